import type { Command } from '../command.ts';
import { completionScript } from '../completion.ts';
import { UsageError } from '../errors.ts';

export const command: Command = async ({ args, out }) => {
  const [shell = ''] = args;
  const script = completionScript(shell);
  if (script === undefined)
    throw new UsageError(`no completion for "${shell}"`, 'there is one for bash, zsh and fish');
  out.answer('completion', { shell, script }, script.trimEnd());
};
