import type { Command } from '../../command.ts';
import { connect } from '../../lib/account/connection.ts';
import { formatBytes, oneLine } from '../../lib/print/text.ts';
import { Lookup } from '../../lib/select/lookup.ts';
import { openSelected, orEverything, selectFiles } from '../../lib/select/selection.ts';
import { Batch } from '../../lib/transfer/batch.ts';
import { maxTransfers, TransferRun } from '../../lib/transfer/run.ts';

export const check: Command = async (invocation) => {
  const { out, signal } = invocation;
  const began = performance.now();
  await using szafa = await connect(invocation, { keys: 'needed', transfers: maxTransfers(invocation) });
  const batch = new Batch(out);
  const tree = await new Lookup(szafa, signal).tree();
  const { files } = selectFiles(tree, orEverything(invocation), batch, 'all');
  const entries = files.map(({ entry }) => entry);
  using run = new TransferRun(invocation, entries, { batch, began });
  await run.each(
    files,
    ({ path }) => path,
    async (file) => {
      const { path, entry } = file;
      const size = await run.progress.track(path, entry.size, async (onProgress) => {
        const remote = await openSelected(szafa, file, invocation);
        await remote.verify({ signal, parallel: run.concurrency.volumes, onProgress });
        return remote.metadata.size;
      });
      run.totals.files++;
      run.totals.bytes += size;
      const text = `good ${oneLine(path)}  ${formatBytes(size)}`;
      out.done('checked', { file_id: entry.fileId, path, size }, text);
    },
  );
  run.finish('checked');
};
