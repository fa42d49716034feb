import type { Command } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import { connect } from '../../lib/account/connection.ts';
import { formatBytes, oneLine } from '../../lib/print/text.ts';
import { Lookup } from '../../lib/select/lookup.ts';
import { type Chosen, chooseFiles } from '../../lib/select/selection.ts';
import { Batch } from '../../lib/transfer/batch.ts';
import { lanesFor, transfersOf } from '../../lib/transfer/concurrency.ts';
import { listenToStdout, pour } from '../../lib/transfer/get/pour.ts';
import { getShared } from '../../lib/transfer/get/shared.ts';
import { Progress } from '../../lib/transfer/progress/progress.ts';

/** One after the other: what is printed must not be mixed. After a failure nothing follows, or two halves would look like one file. */
export const command: Command = async (invocation) => {
  const { flags, out, signal } = invocation;
  if (flags.from !== undefined) return getShared(invocation, flags.from, true);
  out.dataOnStdout = true;
  await using connection = await connect(invocation, {
    keys: 'needed',
    transfers: transfersOf(invocation),
  });
  const { szafa } = connection;
  const batch = new Batch(out);
  const tree = await new Lookup(szafa, signal).tree();
  const { files } = chooseFiles(tree, invocation, batch);
  if (batch.failed > 0) return batch.finish();
  if (flags.output !== undefined && files.length !== 1) {
    throw new UsageError('standard output takes one file', 'name one, or use szafa cat for several');
  }
  const { volumes: parallel } = lanesFor(
    invocation,
    files.map(({ entry }) => entry),
  );
  const progress = new Progress(out);
  progress.expect(
    files.length,
    files.reduce((sum, { entry }) => sum + entry.size, 0),
  );
  listenToStdout();
  try {
    const options = { out, signal, parallel: 1, about: ({ path }: Chosen) => path };
    await batch.run(files, options, async (file) => {
      const track = progress.start(file.path, file.entry.size);
      let succeeded = false;
      try {
        const size = await pour(szafa, file, invocation, { parallel, track });
        succeeded = true;
        const fields = { file_id: file.entry.fileId, from: file.path, path: '-', size };
        const text = `got ${oneLine(file.path)}  ${formatBytes(size)}`;
        if (out.json || flags.output !== undefined) out.done('downloaded', fields, text);
      } finally {
        track.end(succeeded);
        batch.stopped ||= !succeeded;
      }
    });
  } finally {
    progress.close();
  }
  batch.finish();
};
