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
/** Timeout of a request for thumbnails: by then the tiles have usually scrolled out of view. */
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

/** The last listing of the account's files and folders. */
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

  /** The tree of the last listing, which the page shows. */
  get tree(): Tree {
    return this.#tree;
  }

  async list(): Promise<Listing> {
    const szafa = this.#szafa();
    // Read before the list, so that a change in between shows up as a new revision later.
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

  /** Opens a file and caches it: seeking in a video must not open it again for every range. */
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

  /** Shared files are read with stricter checks. Files opened before they were shared must be opened again. */
  forgetOpened(): void {
    this.#open.clear();
  }

  /** Opens a file that is read once from the start, without caching it. */
  async openOnce(fileId: string, signal: AbortSignal): Promise<RemoteFile> {
    return this.#szafa().openFile(fileId, { record: this.entry(fileId).record, signal });
  }

  /** Returns the sources of a file's thumbnail: the stored one, or the file itself. */
  picturesOf(fileId: string) {
    const signal = AbortSignal.timeout(THUMBNAILS_MS);
    return {
      name: this.entry(fileId).path,
      stored: () => this.#stored.of(fileId),
      open: () => this.openOnce(fileId, signal),
    };
  }

  /** Returns the `gen` of the newest listed file at this path; 0 if there is none. */
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

  /** Returns the listed entry. Opening a file without it would let the server substitute another file of the account. */
  entry(fileId: string): Entry {
    const found = this.#entries.get(fileId);
    if (!found) throw new SzafaError('gone', 'this file is not in the list any more');
    return found;
  }
}
