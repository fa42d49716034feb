import type { Command } from '../../command.ts';
import { connect } from '../../lib/account/connection.ts';
import { formatBytes, oneLine } from '../../lib/print/text.ts';
import { Lookup } from '../../lib/select/lookup.ts';
import { type Chosen, chooseFiles, openChosen } from '../../lib/select/selection.ts';
import { Batch } from '../../lib/transfer/batch.ts';
import { lanesFor, summarize, transfersOf } from '../../lib/transfer/concurrency.ts';
import { Progress } from '../../lib/transfer/progress/progress.ts';

export const command: Command = async (invocation) => {
  const { args, out, signal } = invocation;
  const began = performance.now();
  await using connection = await connect(invocation, {
    keys: 'needed',
    transfers: transfersOf(invocation),
  });
  const { szafa } = connection;
  const batch = new Batch(out);
  const tree = await new Lookup(szafa, signal).tree();
  const names = args.length > 0 ? args : ['/'];
  // Older versions, too: what is kept has to be whole.
  const { files } = chooseFiles(tree, { ...invocation, args: names }, batch, 'all');
  const lanes = lanesFor(
    invocation,
    files.map(({ entry }) => entry),
  );
  const progress = new Progress(out);
  progress.expect(
    files.length,
    files.reduce((sum, { entry }) => sum + entry.size, 0),
  );
  const tally = { files: 0, bytes: 0, skipped: 0 };
  try {
    const options = { out, signal, parallel: lanes.files, about: ({ path }: Chosen) => path };
    await batch.run(files, options, async (file) => {
      const { path, entry } = file;
      const track = progress.start(path, entry.size);
      let succeeded = false;
      try {
        const remote = await openChosen(szafa, file, invocation);
        const onProgress = ({ done, total }: { done: number; total: number }) => track.update(done, total);
        await remote.verify({ signal, parallel: lanes.volumes, onProgress });
        succeeded = true;
        const { size } = remote.metadata;
        tally.files++;
        tally.bytes += size;
        const text = `good ${oneLine(path)}  ${formatBytes(size)}`;
        out.done('checked', { file_id: entry.fileId, path, size }, text);
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
