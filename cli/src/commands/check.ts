import type { Entry } from '@szafa/client/node';
import { Batch } from '../batch.ts';
import type { Command } from '../command.ts';
import { connect } from '../connection.ts';
import { nameIn } from '../existing.ts';
import { Lookup } from '../lookup.ts';
import { Progress } from '../progress/progress.ts';
import { chooseFiles, openChosen } from '../selection.ts';
import { formatBytes, oneLine } from '../text.ts';
import { lanesFor, summarize, transfersOf } from '../transfers.ts';

export const command: Command = async (invocation) => {
  const { out, signal } = invocation;
  const began = performance.now();
  await using connection = await connect(invocation, {
    keys: 'needed',
    transfers: transfersOf(invocation),
  });
  const { szafa } = connection;
  const batch = new Batch(out);
  const files = await chooseFiles(new Lookup(szafa, signal), invocation, batch);
  const lanes = lanesFor(invocation, files);
  const progress = new Progress(out);
  progress.expect(
    files.length,
    files.reduce((sum, { size }) => sum + size, 0),
  );
  const tally = { files: 0, bytes: 0, skipped: 0 };
  try {
    const options = { out, signal, parallel: lanes.files, about: ({ name }: Entry) => name };
    await batch.run(files, options, async (entry) => {
      const track = progress.start(entry.name, entry.size);
      let succeeded = false;
      try {
        const remote = await openChosen(szafa, entry, invocation);
        const onProgress = ({ done, total }: { done: number; total: number }) => track.update(done, total);
        await remote.verify({ signal, parallel: lanes.volumes, onProgress });
        succeeded = true;
        const { size } = remote.metadata;
        const name = nameIn(entry, remote.metadata);
        tally.files++;
        tally.bytes += size;
        out.done(
          'checked',
          { file_id: entry.fileId, name, size },
          `good ${oneLine(name)}  ${formatBytes(size)}`,
        );
      } finally {
        track.end(succeeded);
      }
    });
  } finally {
    progress.close();
  }
  summarize(out, 'checked', tally, began);
  batch.finish();
};
