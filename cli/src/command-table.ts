import type { CommandTable } from './command.ts';
import { accountCommands } from './commands/accounts/table.ts';
import { fileCommands } from './commands/files/table.ts';
import { sharingCommands } from './commands/sharing/table.ts';
import { transferCommands } from './commands/transfers/table.ts';

const shellCommands: CommandTable = {
  completion: {
    usage: 'bash|zsh|fish',
    summary: 'print a completion script for a shell',
    details: 'With a stored session the scripts also complete paths on the server.',
    examples: [
      'source <(szafa completion bash)  # in ~/.bashrc',
      'szafa completion zsh > ~/.zfunc/_szafa  # in a folder of $fpath',
      'szafa completion fish > ~/.config/fish/completions/szafa.fish',
    ],
    completes: ['bash', 'zsh', 'fish'],
    needsNoConfig: true,
    load: () => import('./commands/shell.ts').then((file) => file.completionCommand(commands)),
  },
  complete: {
    usage: 'path|path-folder [TEXT]',
    summary: 'print the paths on the server that begin with a text, for the completion scripts',
    examples: [],
    hidden: true,
    load: () => import('./commands/shell.ts').then((file) => file.complete),
  },
};

/** All commands by subject. Each loads its code only when it runs, which keeps startup fast. */
export const commandGroups: Record<string, CommandTable> = {
  'upload and download': transferCommands,
  'files and folders': fileCommands,
  sharing: sharingCommands,
  account: accountCommands,
  shell: shellCommands,
};

export const commands: CommandTable = Object.assign({}, ...Object.values(commandGroups));
