/** What is done to files and folders, by the paths and ids that the list has shown. */
import { displayName, type Entry, lastOf, type Szafa, SzafaError } from '@szafa/client';
import type { Copy, Item, Move, Progress } from '../bridge.ts';
import type { Cabinet } from './cabinet.ts';

const isFolderPath = (path: string) => path.endsWith('/');
const withoutSlash = (path: string) => path.slice(0, -1);
/** Copies are made by the service, a few at a time. */
const AT_ONCE = 4;

export class Operations {
  readonly #szafa: () => Szafa;
  readonly #cabinet: Cabinet;
  readonly #tell: (progress: Progress) => void;
  /** What was put into the trash here, or seen in it. */
  readonly #trashed = new Map<string, Entry>();

  constructor(szafa: () => Szafa, cabinet: Cabinet, tell: (progress: Progress) => void) {
    this.#szafa = szafa;
    this.#cabinet = cabinet;
    this.#tell = tell;
  }

  /** Tells of several steps as of one. */
  #teller(id: string): (done: number, total: number) => void {
    return (done, total) => this.#tell({ id, done, total });
  }

  makeFolder(path: string): Promise<void> {
    return this.#szafa().makeFolder(path);
  }

  /** The files in one go; each folder in one of its own. */
  async rename(id: string, moves: Move[]): Promise<void> {
    const szafa = this.#szafa();
    const { tree } = this.#cabinet;
    const options = { tree, onProgress: this.#teller(id) };
    const files = moves
      .filter(({ from }) => !isFolderPath(from))
      .map(({ from, to }) => ({ entry: this.#file(from), path: to }));
    if (files.length > 0) await szafa.rename(files, options);
    for (const { from, to } of moves.filter((move) => isFolderPath(move.from))) {
      await szafa.renameFolder(withoutSlash(from), withoutSlash(to), options);
    }
  }

  #file(path: string): Entry {
    const node = this.#cabinet.tree.file(path);
    if (!node) throw new SzafaError('gone', 'this file is not in the list any more');
    return node.entry;
  }

  async copy(id: string, copies: Copy[]): Promise<void> {
    const szafa = this.#szafa();
    const { tree } = this.#cabinet;
    const tell = this.#teller(id);
    const waiting = copies.values();
    let done = 0;
    const lane = async () => {
      for (const { fileId, path } of waiting) {
        await szafa.copyTo(this.#cabinet.entry(fileId), path, { tree });
        tell(++done, copies.length);
      }
    };
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, copies.length) }, lane));
  }

  /** Files with all their versions in one go; each folder, with all below it, in one of its own. */
  async trash(id: string, paths: string[]): Promise<string[]> {
    const szafa = this.#szafa();
    const { tree } = this.#cabinet;
    const folders = paths.filter(isFolderPath).map(withoutSlash);
    const files = paths.filter((path) => !isFolderPath(path)).map((path) => tree.file(path));
    const records = files.flatMap((node) => (node ? [...node.versions, ...node.unproven] : []));
    const onProgress = this.#teller(id);
    if (records.length > 0) await szafa.trash(records, { onProgress });
    this.#keep(records);
    const went = [...records];
    for (const path of folders) {
      const inside = await szafa.removeFolder(path, { tree, onProgress });
      this.#keep(inside);
      went.push(...inside);
    }
    return went.map(({ fileId }) => fileId);
  }

  async trashVersion(fileId: string): Promise<void> {
    await this.#szafa().trash([this.#cabinet.entry(fileId)]);
  }

  #keep(entries: readonly Entry[]): void {
    for (const entry of entries) this.#trashed.set(entry.fileId, entry);
  }

  #inTrash(fileIds: readonly string[]): Entry[] {
    return fileIds.map((fileId) => {
      const entry = this.#trashed.get(fileId);
      if (!entry) throw new SzafaError('gone', 'this file is not in the trash any more');
      return entry;
    });
  }

  async listTrash(): Promise<Item[]> {
    const entries = await this.#szafa().listTrash();
    this.#trashed.clear();
    this.#keep(entries);
    return entries.map((entry) => ({
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

  async restore(id: string, fileIds: string[]): Promise<void> {
    await this.#szafa().restore(this.#inTrash(fileIds), { onProgress: this.#teller(id) });
  }

  /** For good; all that is in the trash, where nothing is said of what. */
  async remove(id: string, fileIds?: string[]): Promise<void> {
    const entries = fileIds && this.#inTrash(fileIds);
    await this.#szafa().emptyTrash({ entries, onProgress: this.#teller(id) });
  }

  /** Of an account that has left. */
  clear(): void {
    this.#trashed.clear();
  }

  /** As the newest of its path; the one that was the newest becomes an earlier one. */
  async restoreVersion(fileId: string): Promise<void> {
    const entry = this.#cabinet.entry(fileId);
    await this.#szafa().copyTo(entry, entry.path, { tree: this.#cabinet.tree, asVersion: true });
  }
}
