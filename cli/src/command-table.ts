import type { CommandTable } from './command.ts';
import { accountCommands } from './commands/accounts/table.ts';
import { fileCommands } from './commands/files/table.ts';
import { shareCommands } from './commands/sharing/table.ts';

/** All commands; only the one that is asked for is loaded. */
export const commands: CommandTable = {
  ...accountCommands,
  ...fileCommands,
  ...shareCommands,
  completion: {
    usage: 'bash|zsh|fish',
    summary: 'print a completion script for a shell',
    options: [],
    args: [1, 1],
    examples: [
      ['source <(szafa completion bash)', 'in ~/.bashrc'],
      ['szafa completion zsh > ~/.zfunc/_szafa', 'in a folder of $fpath'],
      ['szafa completion fish > ~/.config/fish/completions/szafa.fish', ''],
    ],
    completes: ['bash', 'zsh', 'fish'],
    keeps: false,
    load: () =>
      import('./commands/completion.ts').then(({ completionOf }) => ({ command: completionOf(commands) })),
  },
  complete: {
    usage: 'path|path-folder TEXT',
    summary: 'print the paths on the server that begin so, for the completion scripts',
    options: [],
    args: [1, 2],
    examples: [],
    hidden: true,
    load: () => import('./commands/complete.ts'),
  },
};
