import type { Command } from '../command.ts';
import { connect } from '../connection.ts';
import { Lookup, ROOT } from '../lookup.ts';
import { oneLine } from '../text.ts';

export const command: Command = async (invocation) => {
  const { args, flags, out, signal } = invocation;
  const { dir = ROOT } = flags;
  await using connection = await connect(invocation, { keys: 'useful' });
  const { szafa } = connection;
  const lookup = new Lookup(szafa, signal);
  const dirId = await lookup.dirId(dir);
  const { fileId, name } = await lookup.file(args[0]!, undefined, 'newest', out);
  const copy = await szafa.copy(fileId, dirId || null, { signal });
  out.done(
    'copied',
    { file_id: copy, source_id: fileId, name, dir_id: dirId || null, dir_name: dirId ? dir : '' },
    `copied ${oneLine(name)} to ${dirId ? `${oneLine(dir)}/` : 'the root'}  ${oneLine(copy)}`,
  );
};
