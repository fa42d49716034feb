import { Batch } from '../batch.ts';
import type { Command } from '../command.ts';
import { connect } from '../connection.ts';
import { UsageError } from '../errors.ts';
import { Lookup } from '../lookup.ts';
import { oneLine } from '../text.ts';

const PARALLEL = 4;

export const command: Command = async (invocation) => {
  const { args, flags, out, signal } = invocation;
  const { dir } = flags;
  if (dir === undefined) throw new UsageError('mv needs --dir NAME', 'use --dir / for the root');
  await using connection = await connect(invocation, { keys: 'useful' });
  const { szafa } = connection;
  const lookup = new Lookup(szafa, signal);
  const dirId = await lookup.dirId(dir);
  const batch = new Batch(out);
  await batch.run(args, { out, signal, parallel: PARALLEL, about: (arg) => arg }, async (arg) => {
    const { fileId, name } = await lookup.file(arg, undefined, 'refuse', out);
    await szafa.move(fileId, dirId || null, { signal });
    out.done(
      'moved',
      { file_id: fileId, name, dir_id: dirId || null, dir_name: dirId ? dir : '' },
      `moved ${oneLine(name)} to ${dirId ? `${oneLine(dir)}/` : 'the root'}`,
    );
  });
  batch.finish();
};
