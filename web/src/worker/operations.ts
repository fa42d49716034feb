/** What is done to files and folders, by the paths and ids that the list has shown. */
import { displayName, type Entry, lastOf, type Szafa, SzafaError } from '@szafa/client';
import { limits } from '@szafa/protocol';
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

  /** Files with all their versions, folders with all below them and what makes them stay when they are empty. */
  #entriesAt(path: string): Entry[] {
    const { tree } = this.#cabinet;
    if (!isFolderPath(path)) {
      const node = tree.file(path);
      return node ? [...node.versions, ...node.unproven] : [];
    }
    const folder = tree.folder(withoutSlash(path));
    if (!folder) return [];
    const files = [...tree.within(folder)].flatMap(({ versions, unproven }) => [...versions, ...unproven]);
    return [...files, ...[...tree.foldersWithin(folder)].flatMap(({ markers }) => markers)];
  }

  async trash(id: string, paths: string[]): Promise<string[]> {
    const entries = paths.flatMap((path) => this.#entriesAt(path));
    const fileIds = entries.map(({ fileId }) => fileId);
    const { api } = this.#szafa();
    await this.#inBatches(id, fileIds, (batch) => api.trashFiles(batch));
    // At the first level a folder is a directory of the service as well.
    for (const path of paths.filter(isFolderPath)) {
      const dirId = this.#cabinet.tree.folder(withoutSlash(path))?.dirId;
      if (dirId !== undefined) await api.deleteDir(dirId);
    }
    return fileIds;
  }

  /** As many at once as the service takes. It says which are not as they were seen; nothing is done to their batch then. */
  async #inBatches(
    id: string,
    fileIds: string[],
    work: (batch: string[]) => Promise<string[]>,
  ): Promise<void> {
    const tell = this.#teller(id);
    for (let at = 0; at < fileIds.length; at += limits.filesPerBatch) {
      const batch = fileIds.slice(at, at + limits.filesPerBatch);
      const others = await work(batch);
      if (others.length > 0) throw new SzafaError('conflict', 'some of the files were changed elsewhere');
      tell(at + batch.length, fileIds.length);
    }
  }

  async trashVersion(fileId: string): Promise<void> {
    await this.#inBatches('', [fileId], (batch) => this.#szafa().api.trashFiles(batch));
  }

  async listTrash(): Promise<Item[]> {
    const entries = await this.#szafa().listTrash();
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

  restore(id: string, fileIds: string[]): Promise<void> {
    return this.#inBatches(id, fileIds, (batch) => this.#szafa().api.restoreFiles(batch));
  }

  remove(id: string, fileIds: string[]): Promise<void> {
    return this.#inBatches(id, fileIds, async (files) => {
      await this.#szafa().api.emptyTrash({ files });
      return [];
    });
  }

  /** All, as often as it takes. */
  async emptyTrash(): Promise<void> {
    const { api } = this.#szafa();
    let more = true;
    while (more) ({ more } = await api.emptyTrash());
  }

  /** As the newest of its path; the one that was the newest becomes an earlier one. */
  async restoreVersion(fileId: string): Promise<void> {
    const entry = this.#cabinet.entry(fileId);
    await this.#szafa().copyTo(entry, entry.path, { tree: this.#cabinet.tree, asVersion: true });
  }
}
