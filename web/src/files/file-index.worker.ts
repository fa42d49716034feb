import {
  displayName,
  type Entry,
  type FileNode,
  lastOf,
  type RemoteFile,
  type Szafa,
  SzafaError,
  Tree,
} from '@szafa/client';
import { requireSameAccount } from '../accounts/same-account.worker.ts';
import type { Item, Listing, VersionInfo } from '../core/bridge/calls.ts';
import { StoredThumbnails } from './thumbnails/thumbnails.worker.ts';

const OPEN_FILES = 16;
/** By then the tile has usually left the view. */
const THUMBNAILS_MS = 30_000;

function itemOf({ path, entry, versions, size, createdAt, verified, problem, misplaced }: FileNode): Item {
  const trouble = problem?.code ?? (misplaced && 'misplaced');
  return {
    fileId: entry.fileId,
    path,
    name: displayName(lastOf(path)),
    verified,
    size,
    createdAt: Date.parse(createdAt),
    versions: versions.length,
    ...(trouble && { problem: trouble }),
  };
}

/** The files and folders of one account, as they were listed last. */
export class FileIndex {
  readonly #szafa: () => Szafa;
  #tree = new Tree([]);
  #entries = new Map<string, Entry>();
  readonly #open = new Map<string, Promise<RemoteFile>>();
  readonly #stored: StoredThumbnails;

  constructor(szafa: () => Szafa) {
    this.#szafa = szafa;
    this.#stored = new StoredThumbnails((fileIds) => {
      const entries = fileIds.flatMap((fileId) => this.#entries.get(fileId) ?? []);
      return szafa().thumbnails(entries, { signal: AbortSignal.timeout(THUMBNAILS_MS) });
    });
  }

  clear(): void {
    this.#tree = new Tree([]);
    this.#entries.clear();
    this.#open.clear();
  }

  /** The tree as it was listed last: the page refers to it. */
  get tree(): Tree {
    return this.#tree;
  }

  async list(): Promise<Listing> {
    const szafa = this.#szafa();
    // Before the list: what changes in between is seen the next time.
    const rev = (await szafa.api.call('changes')).rev;
    const [entries, dirs, quota] = await Promise.all([szafa.list(), szafa.dirs(), szafa.quota()]);
    requireSameAccount(szafa, this.#szafa);
    this.#tree = new Tree(entries, dirs);
    this.#entries = new Map(entries.map((entry) => [entry.fileId, entry]));
    const plain = new Set(dirs.filter(({ verified }) => !verified).map(({ name }) => name));
    return {
      items: this.#tree.files().map(itemOf),
      folders: this.#tree.folders().map(({ path }) => ({ path, verified: !plain.has(path) })),
      dirs: dirs.map(({ dirId, name }) => ({ dirId, name: displayName(name) })),
      quota,
      rev,
    };
  }

  /** Opens a file once, as the list shows it; seeking in a film must not open it again for every range. */
  async open(fileId: string): Promise<RemoteFile> {
    const { record } = this.entry(fileId);
    const key = `${fileId}/${record.file_name}`;
    const known = this.#open.get(key);
    if (known) return known;
    const opening = this.#szafa().openFile(fileId, { record });
    this.#open.set(key, opening);
    opening.catch(() => this.#open.delete(key));
    for (const oldest of this.#open.keys()) {
      if (this.#open.size <= OPEN_FILES) break;
      this.#open.delete(oldest);
    }
    return opening;
  }

  /** Files that are shared are read with more care from then on: they are opened again. */
  forgetOpened(): void {
    this.#open.clear();
  }

  /** Opens a file that is read once, from its beginning. */
  async openOnce(fileId: string, signal: AbortSignal): Promise<RemoteFile> {
    return this.#szafa().openFile(fileId, { record: this.entry(fileId).record, signal });
  }

  /** Where a small picture of a file may come from. */
  picturesOf(fileId: string) {
    const signal = AbortSignal.timeout(THUMBNAILS_MS);
    return {
      name: this.entry(fileId).path,
      stored: () => this.#stored.of(fileId),
      open: () => this.openOnce(fileId, signal),
    };
  }

  /** `gen` of the newest file of this path, as far as the list tells; 0 where there is none. */
  newestGen(path: string): number {
    return this.#tree.genOf(path);
  }

  async versions(path: string): Promise<VersionInfo[]> {
    const found = await this.#szafa().versions(this.#tree.file(path)?.versions ?? []);
    return found.map(({ entry, metadata, problem }) => ({
      fileId: entry.fileId,
      size: metadata?.size ?? entry.size,
      added: metadata?.added ?? Date.parse(entry.createdAt),
      ...(problem && { problem: problem.code }),
    }));
  }

  /** Without the entry that a person saw, the service could give any of their files for it. */
  entry(fileId: string): Entry {
    const found = this.#entries.get(fileId);
    if (!found) throw new SzafaError('gone', 'this file is not in the list any more');
    return found;
  }
}
