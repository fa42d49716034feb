import type { Command } from '../../command.ts';
import { connect } from '../../lib/account/connection.ts';
import { oneLine } from '../../lib/print/text.ts';
import { ASKED, shareOf } from '../../lib/select/by-id.ts';
import { Batch } from '../../lib/transfer/batch.ts';

export const command: Command = async (invocation) => {
  const { args, out, signal } = invocation;
  await using connection = await connect(invocation, { keys: 'useful' });
  const { szafa } = connection;
  const requests = await szafa.requests({ signal });
  const batch = new Batch(out);
  await batch.run(args, { out, signal, parallel: 1, about: (arg) => arg }, async (arg) => {
    const { id, folder } = shareOf(requests, arg, ASKED);
    await szafa.endRequest(id, { signal });
    out.done(
      'unrequested',
      { id, folder },
      `nobody uploads for ${oneLine(folder) || id} by this link any more`,
    );
  });
  batch.finish();
};
