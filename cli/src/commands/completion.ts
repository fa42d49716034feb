import type { Command, CommandTable } from '../command.ts';
import { completionScript } from '../completion.ts';
import { UsageError } from '../errors.ts';

export function completionOf(commands: CommandTable): Command {
  return async ({ args, out }) => {
    const [shell = ''] = args;
    const script = completionScript(shell, commands);
    if (script === undefined)
      throw new UsageError(`no completion for "${shell}"`, 'there is one for bash, zsh and fish');
    out.answer('completion', { shell, script }, script.trimEnd());
  };
}
