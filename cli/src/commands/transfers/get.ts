import { looksLikeLink } from '@szafa/client/node';
import type { Command, Invocation } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import { withAccount } from '../../lib/account/connection.ts';
import { formatBytes, oneLine } from '../../lib/print/text.ts';
import { openSelected, type SelectedFile, selectFiles } from '../../lib/select/selection.ts';
import { getShared } from '../../lib/transfer/get/from-account.ts';
import { getLink } from '../../lib/transfer/get/from-link.ts';
import { getOwn } from '../../lib/transfer/get/own.ts';
import { checkPrintable, listenToStdout, printFile, STDOUT } from '../../lib/transfer/get/stdout.ts';
import { maxTransfers, TransferRun } from '../../lib/transfer/run.ts';

function checkUsage({ args, flags }: Invocation): void {
  if (flags.output === '') throw new UsageError('--output is empty', 'give a file or a folder');
  if (flags.output !== STDOUT) return;
  if (args.length !== 1) {
    throw new UsageError('standard output takes one file', 'name one, or give --output a folder');
  }
  if (flags['dry-run']) {
    throw new UsageError('--dry-run cannot be combined with --output -', 'omit one of them');
  }
}

export const get: Command = async (invocation) => {
  const { args, flags } = invocation;
  const [first = ''] = args;
  checkUsage(invocation);
  if (looksLikeLink(first)) {
    if (args.length > 1) throw new UsageError('get takes one link at a time', 'give the others one by one');
    return getLink(invocation, first);
  }
  return flags.output === STDOUT
    ? cat(invocation)
    : (flags.from === undefined ? getOwn : getShared)(invocation);
};

export const cat: Command = (invocation) => {
  invocation.out.dataOnStdout = true;
  return (invocation.flags.from === undefined ? printOwn : getShared)(invocation);
};

/** Prints files one at a time. Stops at the first failure: anything after a truncated file would look like part of it. */
const printOwn = withAccount({ keys: 'needed', transfers: maxTransfers }, async (invocation) => {
  const { flags, out, batch, signal, lookup } = invocation;
  const { files } = selectFiles(await lookup.tree(), invocation);
  if (batch.failed > 0) return;
  if (flags.output !== undefined && files.length !== 1) {
    throw new UsageError('standard output takes one file', 'name one, or use szafa cat for several');
  }
  const entries = files.map(({ entry }) => entry);
  using run = new TransferRun(invocation, entries);
  listenToStdout();
  await batch.each(files, async (file: SelectedFile) => {
    batch.stopped = true;
    const size = await run.progress.track(file.path, file.entry.size, async (onProgress) => {
      const remote = await openSelected(invocation, file);
      checkPrintable(remote.metadata.link);
      await printFile(remote, { signal, parallel: run.concurrency.volumes, onProgress });
      return remote.metadata.size;
    });
    batch.stopped = false;
    const fields = { file_id: file.entry.fileId, from: file.path, path: STDOUT, size };
    const text = `got ${oneLine(file.path)}  ${formatBytes(size)}`;
    if (out.json || flags.output !== undefined) out.done('downloaded', fields, text);
  });
});
