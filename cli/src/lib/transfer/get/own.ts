import type { Attributes, RemoteFile } from '@szafa/client/node';
import { type AccountInvocation, withAccount } from '../../account/connection.ts';
import type { SelectedFile, SelectedFolder } from '../../select/selection.ts';
import { isDelivered, openSelected, sealedBelow, selectFiles } from '../../select/selection.ts';
import { maxTransfers, TransferRun } from '../run.ts';
import { Destination, targetFor } from './destination.ts';
import { checkLink, type WrittenFile, writtenFile } from './links.ts';
import { type Download, DownloadWriter, stateOf } from './write.ts';

interface PendingLink extends Download {
  file: SelectedFile;
  remote: RemoteFile;
  target: string;
}

/** Downloads files of the account. Adds symbolic links to `links` instead of creating them: no file may be written through one. */
function fileReceiver(account: AccountInvocation, writer: DownloadWriter, links: PendingLink[]) {
  const { run, destination } = writer;
  /** For each file with several names, the first one once it is written. */
  const firstNames = new Map<string, Promise<WrittenFile | undefined>>();

  /**
   * Writes the first name of a file and makes its other names hard links. Links only to a file written by this command: one that
   * existed before may have other content, another owner, or links elsewhere.
   */
  async function asOneFile(
    { metadata }: RemoteFile,
    path: string,
    write: (first?: WrittenFile) => Promise<boolean>,
  ): Promise<unknown> {
    const { hardlink, size, mtime, nanos, mode } = metadata;
    if (hardlink === undefined || isDelivered(metadata) || account.flags['dry-run']) return write();
    const key = [hardlink, size, mtime, nanos, mode].join();
    const pending = firstNames.get(key);
    // No await if nothing is pending: otherwise two names could both become the first.
    const first = pending && (await pending);
    if (first) return write(first);
    const writing = write();
    const written = (isWritten: boolean) => (isWritten ? writtenFile(path) : undefined);
    const noted = writing.then(written).catch(() => undefined);
    firstNames.set(key, noted);
    return writing;
  }

  return (file: SelectedFile): Promise<void> =>
    run.progress.track(file.path, file.entry.size, async (update) => {
      // Claim before opening, so that numbers follow the order of the files.
      const claimed = file.entry.verified ? destination.claim(file.below) : undefined;
      const remote = await openSelected(account, file);
      const { link, size } = remote.metadata;
      update({ done: 0, total: size });
      const below = sealedBelow(file, remote.metadata);
      const path = claimed !== undefined && below === file.below ? claimed : destination.claim(below);
      const fields = { file_id: file.entry.fileId, from: file.path };
      const download: Download = { fields, path, below, size };
      if (link !== undefined) {
        links.push({ ...download, size: 0, file, remote, target: link });
        return;
      }
      const open = async () => remote;
      const options = { onProgress: update, countVolumes: true } as const;
      await asOneFile(remote, path, async (first) => {
        const state = await stateOf(path, remote.metadata, open, { ...account, destination });
        return writer.write(download, state, open, { ...options, first });
      });
    });
}

/** Sets modes and times of new folders, deepest first: after that a parent may no longer be writable. */
async function finishFolders(
  { batch, signal, szafa }: AccountInvocation,
  { destination, run }: DownloadWriter,
  recorded: readonly SelectedFolder[],
): Promise<void> {
  // Do not count folders: their files are counted.
  const { done } = batch;
  const about = ({ below }: SelectedFolder) => below;
  const depth = ({ below }: SelectedFolder) => below.split('/').length;
  const unfinished = recorded
    .filter(({ below }) => destination.isUnfinished(below))
    .sort((a, b) => depth(b) - depth(a));
  const attributes = new Map<SelectedFolder, Attributes>();
  const readOne = async (folder: SelectedFolder) => {
    attributes.set(folder, await szafa.folderAttributes(folder, { signal }));
  };
  await batch.each(unfinished, readOne, { parallel: run.concurrency.files, about });
  const known = unfinished.filter((folder) => attributes.has(folder));
  const finish = async (folder: SelectedFolder) => destination.finish(folder.below, attributes.get(folder)!);
  await batch.each(known, finish, { about });
  batch.done = done;
}

export const getOwn = withAccount({ keys: 'needed', transfers: maxTransfers }, async (account) => {
  const { flags, out, batch, lookup } = account;
  const { files, emptyFolders, recorded, single } = selectFiles(await lookup.tree(), account);
  const entries = files.map(({ entry }) => entry);
  using run = new TransferRun(account, entries);
  const closed = new Set(recorded.map(({ below }) => below));
  const destination = new Destination(await targetFor(flags.output, single), out, {
    ...{ dryRun: flags['dry-run'], own: true },
    isClosed: (below) => closed.has(below),
  });
  const writer = new DownloadWriter(run, destination);
  const links: PendingLink[] = [];
  await batch.each(files, fileReceiver(account, writer, links), { parallel: run.concurrency.files });
  const makeEmpty = async ({ below }: SelectedFolder) => writer.makeFolder(below, { from: below });
  await batch.each(emptyFolders, makeEmpty, { about: ({ below }) => below });
  // Create links after all folders, so that no folder is created through one. Count them only when they are made.
  batch.done -= links.length;
  const makeLink = async ({ file, remote, target, ...download }: PendingLink) => {
    // The account's own links may lead anywhere; only those from visitors are checked.
    if (isDelivered(remote.metadata)) checkLink(download.path, target, destination.localFolder(file.top));
    writer.writeLink(download, target, remote.metadata);
  };
  await batch.each(links, makeLink, { about: ({ file }) => file.path });
  await finishFolders(account, writer, recorded);
  if (files.length + emptyFolders.length === 0 && batch.failed === 0) {
    out.note('empty', 'there is nothing to download: the folder is empty');
  }
  run.finish('got', 'would get');
});
