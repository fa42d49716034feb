import { type Attributes, looksLikeLink } from '@szafa/client/node';
import type { Command, Invocation } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import { connect } from '../../lib/account/connection.ts';
import { formatBytes, oneLine } from '../../lib/print/text.ts';
import { Lookup } from '../../lib/select/lookup.ts';
import { openSelected, type SelectedFolder, selectFiles } from '../../lib/select/selection.ts';
import { Batch } from '../../lib/transfer/batch.ts';
import { Destination, targetFor } from '../../lib/transfer/get/destination.ts';
import { getShared } from '../../lib/transfer/get/from-account.ts';
import { getLink } from '../../lib/transfer/get/from-link.ts';
import { OwnDownloads } from '../../lib/transfer/get/own.ts';
import { checkPrintable, listenToStdout, printFile, STDOUT } from '../../lib/transfer/get/stdout.ts';
import { DownloadWriter } from '../../lib/transfer/get/write.ts';
import { maxTransfers, openJournal, TransferRun } from '../../lib/transfer/run.ts';

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
  const { args, flags, out, signal } = invocation;
  const [first = ''] = args;
  checkUsage(invocation);
  if (looksLikeLink(first)) {
    if (args.length > 1) throw new UsageError('get takes one link at a time', 'give the others one by one');
    return getLink(invocation, first);
  }
  if (flags.from !== undefined) return getShared(invocation, flags.from, flags.output === STDOUT);
  if (flags.output === STDOUT) return cat(invocation);
  const began = performance.now();
  await using szafa = await connect(invocation, { keys: 'needed', transfers: maxTransfers(invocation) });
  const batch = new Batch(out);
  const tree = await new Lookup(szafa, signal).tree();
  const { files, emptyFolders, recorded, single } = selectFiles(tree, invocation, batch);
  const entries = files.map(({ entry }) => entry);
  using run = new TransferRun(invocation, entries, { batch, began });
  const closed = new Set(recorded.map(({ below }) => below));
  const destination = new Destination(await targetFor(flags.output, single), out, {
    ...{ dryRun: flags['dry-run'], own: true },
    isClosed: (below) => closed.has(below),
  });
  const writer = new DownloadWriter(run, destination, openJournal(invocation));
  const downloads = new OwnDownloads(szafa, writer);
  await run.each(
    files,
    ({ path }) => path,
    (file) => downloads.receive(file),
  );
  const nameOf = ({ below }: SelectedFolder) => below;
  const makeEmpty = async ({ below }: SelectedFolder) => writer.makeFolder(below, { from: below });
  await run.each(emptyFolders, nameOf, makeEmpty, 1);
  // After all folders, so that no link is in the way. A link counts when it is made.
  const { links } = downloads;
  batch.done -= links.length;
  await run.each(
    links,
    ({ file }) => file.path,
    (link) => downloads.receiveLink(link),
    1,
  );
  // Folders are not counted: their files are. The deepest first: a folder may be closed to everyone again.
  const { done } = batch;
  const depth = ({ below }: SelectedFolder) => below.split('/').length;
  const unfinished = recorded
    .filter(({ below }) => destination.isUnfinished(below))
    .sort((a, b) => depth(b) - depth(a));
  const attributes = new Map<SelectedFolder, Attributes>();
  await run.each(unfinished, nameOf, async (folder) => {
    attributes.set(folder, await szafa.folderAttributes(folder, { signal }));
  });
  const known = unfinished.filter((folder) => attributes.has(folder));
  const finish = async (folder: SelectedFolder) => destination.finish(folder.below, attributes.get(folder)!);
  await run.each(known, nameOf, finish, 1);
  batch.done = done;
  if (files.length + emptyFolders.length === 0 && batch.failed === 0) {
    out.note('empty', 'there is nothing to download: the folder is empty');
  }
  run.finish('got', 'would get');
};

/** Prints files one at a time. After a failure nothing follows, or two halves would look like one file. */
export const cat: Command = async (invocation) => {
  const { flags, out, signal } = invocation;
  if (flags.from !== undefined) return getShared(invocation, flags.from, true);
  const began = performance.now();
  out.dataOnStdout = true;
  await using szafa = await connect(invocation, { keys: 'needed', transfers: maxTransfers(invocation) });
  const batch = new Batch(out);
  const tree = await new Lookup(szafa, signal).tree();
  const { files } = selectFiles(tree, invocation, batch);
  if (batch.failed > 0) return batch.finish();
  if (flags.output !== undefined && files.length !== 1) {
    throw new UsageError('standard output takes one file', 'name one, or use szafa cat for several');
  }
  const entries = files.map(({ entry }) => entry);
  using run = new TransferRun(invocation, entries, { batch, began });
  listenToStdout();
  const print = async (file: (typeof files)[number]) => {
    batch.stopped = true;
    const size = await run.progress.track(file.path, file.entry.size, async (onProgress) => {
      const remote = await openSelected(szafa, file, invocation);
      checkPrintable(remote.metadata.link);
      await printFile(remote, { signal, parallel: run.concurrency.volumes, onProgress });
      return remote.metadata.size;
    });
    batch.stopped = false;
    const fields = { file_id: file.entry.fileId, from: file.path, path: STDOUT, size };
    const text = `got ${oneLine(file.path)}  ${formatBytes(size)}`;
    if (out.json || flags.output !== undefined) out.done('downloaded', fields, text);
  };
  await run.each(files, ({ path }) => path, print, 1);
  run.progress.close();
  batch.finish();
};
