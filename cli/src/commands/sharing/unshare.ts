import type { OwnLink, ReceivedShare } from '@szafa/client/node';
import type { Command } from '../../command.ts';
import { connect } from '../../lib/account/connection.ts';
import { oneLine } from '../../lib/print/text.ts';
import { shareOf } from '../../lib/select/by-id.ts';
import { Batch } from '../../lib/transfer/batch.ts';

/** What holds when it has ended. */
function ended(share: OwnLink | ReceivedShare): string {
  const title = oneLine(share.title) || share.id;
  if ('from' in share) return `${title} of ${oneLine(share.from)} is put away`;
  return share.to === undefined
    ? `nobody gets ${title} by this link any more`
    : `${oneLine(share.to)} does not get ${title} any more`;
}

export const command: Command = async (invocation) => {
  const { args, out, signal } = invocation;
  await using connection = await connect(invocation, { keys: 'useful' });
  const { szafa } = connection;
  const own = await szafa.links({ signal });
  let received: Promise<ReceivedShare[]> | undefined;
  const batch = new Batch(out);
  await batch.run(args, { out, signal, parallel: 1, about: (arg) => arg }, async (arg) => {
    let share: OwnLink | ReceivedShare;
    try {
      share = shareOf(own, arg);
    } catch (error) {
      received ??= szafa.sharedWithMe({ signal });
      const [theirs, second] = (await received).filter(({ id }) => arg !== '' && id.startsWith(arg));
      if (!theirs || second) throw error;
      share = theirs;
    }
    const { id, title } = share;
    await ('from' in share ? szafa.endReceived(id, { signal }) : szafa.endShare(id, { signal }));
    out.done('unshared', { id, title }, ended(share));
  });
  batch.finish();
};
