import { cleanDirName } from '@szafa/protocol';
import type { Command } from '../command.ts';
import { connect } from '../connection.ts';
import { CliError } from '../errors.ts';
import { Lookup } from '../lookup.ts';
import { oneLine } from '../text.ts';

export const command: Command = async (invocation) => {
  const { args, flags, out, signal } = invocation;
  const name = cleanDirName(args[0]!);
  const plain = flags['plain-names'] ?? false;
  await using connection = await connect(invocation, { keys: plain ? 'useful' : 'needed' });
  const { szafa } = connection;
  if (await new Lookup(szafa, signal).findDir(name)) {
    throw new CliError('exists', `the directory "${name}" already exists`, 'szafa ls shows it');
  }
  const dirId = await szafa.makeDir(name, { plain, signal });
  out.done('directory', { dir_id: dirId, name }, `created ${oneLine(name)}/`);
};
