/** Operations on files and folders, by the paths and ids of the last listing. */
import {
  ConflictError,
  displayName,
  type Entry,
  hiddenRecords,
  isWithin,
  lastOf,
  recordsAbove,
  recordsLeft,
  recordsOf,
  type Szafa,
  SzafaError,
  Tree,
} from '@szafa/client';
import { requireSameAccount } from '../accounts/same-account.worker.ts';
import type { Copy, Item, Move } from '../core/bridge/calls.ts';
import type { Progress } from '../core/bridge/messages.ts';
import type { FileIndex } from './file-index.worker.ts';

const isFolderPath = (path: string) => path.endsWith('/');
const withoutSlash = (path: string) => path.slice(0, -1);
const depthOf = (path: string) => path.split('/').length;

function recordsAt(tree: Tree, path: string): Entry[] {
  const node = tree.file(path);
  return node ? recordsOf(node) : [];
}

/** Whether any of the files exists. Reads the trash first, so that a file restored in between is in the second list. */
async function isAnyLeft(szafa: Szafa, fileIds: readonly string[]): Promise<boolean> {
  const wanted = new Set(fileIds);
  const left = [...(await szafa.listTrash()), ...(await szafa.list())];
  return left.some(({ fileId }) => wanted.has(fileId));
}

/** Number of files that the server copies at the same time. */
const AT_ONCE = 4;

export class Operations {
  readonly #szafa: () => Szafa;
  readonly #fileIndex: FileIndex;
  readonly #tell: (progress: Progress) => void;
  /** Entries that were trashed by this tab or listed in the trash. */
  readonly #trashed = new Map<string, Entry>();
  /** The tree used by `recordsOf`. `trash` must use the same one: Undo could not restore newer files. */
  #going: Tree | undefined;

  constructor(szafa: () => Szafa, fileIndex: FileIndex, tell: (progress: Progress) => void) {
    this.#szafa = szafa;
    this.#fileIndex = fileIndex;
    this.#tell = tell;
  }

  #teller(id: string): (done: number, total: number) => void {
    return (done, total) => this.#tell({ id, done, total });
  }

  makeFolder(path: string): Promise<void> {
    return this.#szafa().makeFolder(path);
  }

  /** Moves all files in one call, then each folder in its own, inner folders before outer ones. */
  async rename(id: string, moves: Move[]): Promise<void> {
    const szafa = this.#szafa();
    const onProgress = this.#teller(id);
    let { tree } = this.#fileIndex;
    const files = moves.filter(({ from }) => !isFolderPath(from));
    const wanted = files.map((move) => ({ entry: this.#file(move), path: move.to }));
    if (wanted.length > 0) await szafa.rename(wanted, { tree, onProgress });
    const folders = moves
      .filter(({ from }) => isFolderPath(from))
      .map(({ from, to }) => ({ from: withoutSlash(from), to: withoutSlash(to) }))
      .sort((a, b) => depthOf(b.from) - depthOf(a.from));
    let since = files;
    for (const { from, to } of folders) {
      // The tree is outdated for a folder if something was moved out of it or into it.
      if (since.some((done) => isWithin(done.from, from) || isWithin(done.to, from))) {
        tree = await szafa.tree();
        since = [];
      }
      await szafa.renameFolder(from, to, { tree, onProgress });
      since = [...since, { from, to }];
    }
  }

  #file({ from, fileId }: Move): Entry {
    const records = recordsAt(this.#fileIndex.tree, from);
    const isMeant = fileId === undefined || records.some((record) => record.fileId === fileId);
    if (!records[0] || !isMeant) throw new SzafaError('gone', 'this file is not in the list any more');
    return records[0];
  }

  /** Creates only folders that are empty or have a record with attributes: others exist through their files. */
  async copy(id: string, copies: Copy[], wanted: Move[]): Promise<void> {
    const szafa = this.#szafa();
    const { tree } = this.#fileIndex;
    const folders = wanted.filter(({ from }) => {
      const folder = tree.folder(from);
      return folder === undefined || folder.markers.length > 0 || folder.count + folder.folders.length === 0;
    });
    const tell = this.#teller(id);
    const waiting = copies.values();
    const all = copies.length + folders.length;
    let done = 0;
    const lane = async () => {
      for (const { fileId, path } of waiting) {
        await szafa.copyTo(this.#fileIndex.entry(fileId), path, { tree });
        tell(++done, all);
      }
    };
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, copies.length) }, lane));
    for (const { from, to } of folders) {
      const kept = await szafa.folderAttributes(tree.folder(from) ?? { markers: [] });
      await szafa.makeFolder(to, { tree, ...kept });
      tell(++done, all);
    }
  }

  /** Collects the records before they are trashed: if trashing fails halfway, Undo restores all of them. */
  recordsOf(paths: string[]): string[] {
    const { tree } = this.#fileIndex;
    this.#going = tree;
    const records = paths.flatMap((path) => {
      const folder = isFolderPath(path) ? tree.folder(withoutSlash(path)) : undefined;
      if (!folder) return recordsAt(tree, path);
      const markers = [...tree.foldersWithin(folder)].flatMap((inner) => inner.markers);
      return [...[...tree.within(folder)].flatMap(recordsOf), ...markers];
    });
    this.#keep(records);
    return [...new Set(records.map(({ fileId }) => fileId))];
  }

  /** Trashes all files with their versions in one call, and each folder with its contents in its own. */
  async trash(id: string, paths: string[]): Promise<void> {
    const szafa = this.#szafa();
    const tree = this.#going ?? this.#fileIndex.tree;
    const records = paths.filter((path) => !isFolderPath(path)).flatMap((path) => recordsAt(tree, path));
    const onProgress = this.#teller(id);
    if (records.length > 0) await szafa.trash(records, { onProgress });
    for (const path of paths.filter(isFolderPath)) {
      await szafa.removeFolder(withoutSlash(path), { tree, onProgress });
    }
  }

  async trashVersion(fileId: string): Promise<void> {
    await this.#szafa().trash([this.#fileIndex.entry(fileId)]);
  }

  #keep(entries: readonly Entry[]): void {
    for (const entry of entries) this.#trashed.set(entry.fileId, entry);
  }

  /** Leaves out files that are no longer in the trash. */
  #inTrash(fileIds: readonly string[]): Entry[] {
    return fileIds.flatMap((fileId) => this.#trashed.get(fileId) ?? []);
  }

  /** Like #inTrash, with the records of the folders above the files. */
  #withFolders(fileIds: readonly string[]): Entry[] {
    const tree = new Tree(this.#trashed.values());
    const entries = this.#inTrash(fileIds);
    return [...new Set([...entries, ...entries.flatMap(({ path }) => recordsAbove(tree, path))])];
  }

  async listTrash(): Promise<Item[]> {
    const before = [...this.#trashed.keys()];
    const szafa = this.#szafa();
    const entries = await szafa.listTrash();
    requireSameAccount(szafa, this.#szafa);
    // Keep entries that were trashed during the read: the list may not contain them.
    for (const fileId of before) this.#trashed.delete(fileId);
    this.#keep(entries);
    const hidden = hiddenRecords(entries);
    return entries
      .filter((entry) => !hidden.has(entry))
      .map((entry) => ({
        fileId: entry.fileId,
        path: entry.path.replace(/\/$/, ''),
        name: displayName(lastOf(entry.path.replace(/\/$/, ''))),
        isFolder: isFolderPath(entry.path),
        verified: entry.verified,
        size: entry.size,
        createdAt: Date.parse(entry.createdAt),
        versions: 1,
        trashedAt: Date.parse(entry.trashedAt),
        expiresAt: Date.parse(entry.expiresAt),
        ...(entry.problem && { problem: entry.problem.code }),
      }));
  }

  async restoreFiles(id: string, fileIds: string[], folders: string[] = []): Promise<void> {
    const szafa = this.#szafa();
    const entries = this.#withFolders(fileIds);
    if (entries.length + folders.length === 0)
      throw new SzafaError('gone', 'nothing of it is in the trash any more');
    const onProgress = this.#teller(id);
    let lost: ConflictError | undefined;
    try {
      await szafa.restore(entries, { onProgress });
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      // Some files were deleted forever in the meantime, so nothing was restored. Restore the others.
      lost = error;
      await this.listTrash();
      await szafa.restore(this.#withFolders(fileIds), { onProgress });
    }
    if (folders.length > 0) {
      const now = await szafa.tree();
      for (const path of folders) if (!now.folder(path)) await szafa.makeFolder(path, { tree: now });
    }
    if (lost) throw lost;
  }

  /** Deletes only the files that the user confirmed, and nothing trashed since. */
  async deleteForever(id: string, fileIds: string[]): Promise<void> {
    const szafa = this.#szafa();
    const asked = this.#inTrash(fileIds);
    const records = recordsLeft(new Tree(this.#trashed.values()), new Set(fileIds));
    const entries = [...asked, ...records];
    try {
      const removed = await szafa.emptyTrash({ entries, onProgress: this.#teller(id) });
      if (removed < fileIds.length + records.length) throw new ConflictError(entries.map(({ path }) => path));
    } catch (error) {
      // Another device deleted or restored some, or only an answer was lost: it failed only if a file is left.
      if (await isAnyLeft(szafa, fileIds).catch(() => true)) throw error;
    }
  }

  clear(): void {
    this.#trashed.clear();
    this.#going = undefined;
  }

  /** Makes this version the current one. The current one becomes an earlier version. */
  async restoreVersion(fileId: string): Promise<void> {
    const entry = this.#fileIndex.entry(fileId);
    await this.#szafa().copyTo(entry, entry.path, { tree: this.#fileIndex.tree, asVersion: true });
  }
}
