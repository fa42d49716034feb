/** Operations on files and folders, by the paths and ids that were listed. */
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

/** Reads the trash first: a file restored in between is in the second list. */
async function isAnyLeft(szafa: Szafa, fileIds: readonly string[]): Promise<boolean> {
  const wanted = new Set(fileIds);
  const left = [...(await szafa.listTrash()), ...(await szafa.list())];
  return left.some(({ fileId }) => wanted.has(fileId));
}

/** Copies are made by the service, a few at a time. */
const AT_ONCE = 4;

export class Operations {
  readonly #szafa: () => Szafa;
  readonly #fileIndex: FileIndex;
  readonly #tell: (progress: Progress) => void;
  /** Entries put into the trash here, or listed in it. */
  readonly #trashed = new Map<string, Entry>();
  /** The tree that `recordsOf` noted: `trash` must take nothing newer, which Undo could not bring back. */
  #going: Tree | undefined;

  constructor(szafa: () => Szafa, fileIndex: FileIndex, tell: (progress: Progress) => void) {
    this.#szafa = szafa;
    this.#fileIndex = fileIndex;
    this.#tell = tell;
  }

  /** Tells of several steps as of one. */
  #teller(id: string): (done: number, total: number) => void {
    return (done, total) => this.#tell({ id, done, total });
  }

  makeFolder(path: string): Promise<void> {
    return this.#szafa().makeFolder(path);
  }

  /** The files in one go; each folder in one of its own, those in others before these. */
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
      // The tree is old for a folder that something was moved out of, or into.
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

  /** Copies the attributes of folders; one without a record exists by its files, unless it is empty. */
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

  /** Before they go: where only some of them went, and it cannot be told which, all can be brought back. */
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

  /** Files with all their versions in one go; each folder, with all below it, in one of its own. */
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

  /** Some may be gone from there already. */
  #inTrash(fileIds: readonly string[]): Entry[] {
    return fileIds.flatMap((fileId) => this.#trashed.get(fileId) ?? []);
  }

  /** The same, with the records of the folders above them. */
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
    // Entries added while the list was read may not be in it.
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
      // Some were deleted forever in the meantime, and nothing was restored: restore the others.
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

  /** For good: those that a person was asked about, and nothing that came there since. */
  async deleteForever(id: string, fileIds: string[]): Promise<void> {
    const szafa = this.#szafa();
    const asked = this.#inTrash(fileIds);
    const records = recordsLeft(new Tree(this.#trashed.values()), new Set(fileIds));
    const entries = [...asked, ...records];
    try {
      const removed = await szafa.emptyTrash({ entries, onProgress: this.#teller(id) });
      if (removed < fileIds.length + records.length) throw new ConflictError(entries.map(({ path }) => path));
    } catch (error) {
      // Another device has deleted or restored some, perhaps as an earlier version; or only an answer was lost.
      if (await isAnyLeft(szafa, fileIds).catch(() => true)) throw error;
    }
  }

  clear(): void {
    this.#trashed.clear();
    this.#going = undefined;
  }

  /** Makes it the newest of its path; the newest one becomes an earlier version. */
  async restoreVersion(fileId: string): Promise<void> {
    const entry = this.#fileIndex.entry(fileId);
    await this.#szafa().copyTo(entry, entry.path, { tree: this.#fileIndex.tree, asVersion: true });
  }
}
