import { withAccount } from '../../lib/account/connection.ts';
import { formatBytes, oneLine } from '../../lib/print/text.ts';
import { openSelected, orEverything, type SelectedFile, selectFiles } from '../../lib/select/selection.ts';
import { maxTransfers, TransferRun } from '../../lib/transfer/run.ts';

export const check = withAccount({ keys: 'needed', transfers: maxTransfers }, async (invocation) => {
  const { out, batch, signal, lookup } = invocation;
  const { files } = selectFiles(await lookup.tree(), orEverything(invocation), 'all');
  const entries = files.map(({ entry }) => entry);
  using run = new TransferRun(invocation, entries);
  const checkOne = async (file: SelectedFile) => {
    const { path, entry } = file;
    const size = await run.progress.track(path, entry.size, async (onProgress) => {
      const remote = await openSelected(invocation, file);
      await remote.verify({ signal, parallel: run.concurrency.volumes, onProgress });
      return remote.metadata.size;
    });
    run.count(size);
    const text = `good ${oneLine(path)}  ${formatBytes(size)}`;
    out.done('checked', { file_id: entry.fileId, path, size }, text);
  };
  await batch.each(files, checkOne, { parallel: run.concurrency.files });
  run.finish('checked');
});
