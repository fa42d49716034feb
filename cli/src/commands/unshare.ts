import { Batch } from '../batch.ts';
import type { Command } from '../command.ts';
import { connect } from '../connection.ts';
import { linkOf } from '../shares.ts';
import { oneLine } from '../text.ts';

export const command: Command = async (invocation) => {
  const { args, out, signal } = invocation;
  await using connection = await connect(invocation, { keys: 'useful' });
  const { szafa } = connection;
  const links = await szafa.links({ signal });
  const batch = new Batch(out);
  await batch.run(args, { out, signal, parallel: 1, about: (arg) => arg }, async (arg) => {
    const { id, title } = linkOf(links, arg);
    await szafa.endShare(id, { signal });
    out.done('unshared', { id, title }, `nobody gets ${oneLine(title) || id} by this link any more`);
  });
  batch.finish();
};
