import { displayName, type Entry, isAhead, type RemoteFile, type Szafa, SzafaError } from '@szafa/client';
import { cleanDirName } from '@szafa/protocol';
import type { Dir, FileInfo, Item, Listing } from '../bridge.ts';
import { shownType } from './types.ts';

const OPEN_FILES = 16;

function itemOf(entry: Entry): Item {
  const { fileId, name, verified, size, dirId, createdAt, problem } = entry;
  return {
    fileId,
    name: displayName(name),
    verified,
    size,
    dirId,
    createdAt: Date.parse(createdAt),
    ...(problem && { problem: problem.code }),
  };
}

/** The files and directories of one account. */
export class Cabinet {
  readonly #szafa: () => Szafa;
  #entries = new Map<string, Entry>();
  readonly #open = new Map<string, Promise<RemoteFile>>();

  constructor(szafa: () => Szafa) {
    this.#szafa = szafa;
  }

  clear(): void {
    this.#entries.clear();
    this.#open.clear();
  }

  async list(): Promise<Listing> {
    const szafa = this.#szafa();
    const [entries, dirs, quota] = await Promise.all([szafa.list(), szafa.dirs(), szafa.quota()]);
    this.#entries = new Map(entries.map((entry) => [entry.fileId, entry]));
    return {
      items: entries.map(itemOf),
      dirs: dirs.map(
        ({ dirId, name, verified, fileCount }): Dir => ({
          dirId,
          name: displayName(name),
          verified,
          fileCount,
        }),
      ),
      quota,
    };
  }

  makeDir(name: string): Promise<number> {
    return this.#szafa().makeDir(cleanDirName(name));
  }

  ensureDir(name: string): Promise<number> {
    return this.#szafa().ensureDir(cleanDirName(name));
  }

  async removeDir(dirId: number): Promise<void> {
    const szafa = this.#szafa();
    const inside = (await szafa.list({ dirId })).map((entry) => ({ entry, path: entry.name }));
    await szafa.rename(inside, { asVersion: true });
    await szafa.api.deleteDir(dirId);
  }

  move(fileId: string, dirId: number | null): Promise<void> {
    return this.#szafa().move(fileId, dirId);
  }

  async copy(fileId: string, dirId: number | null): Promise<void> {
    await this.#szafa().copy(fileId, dirId);
  }

  async remove(fileId: string): Promise<void> {
    await this.#szafa().remove(fileId);
    this.#entries.delete(fileId);
  }

  /** Opens a file once, as the list shows it; seeking in a film must not open it again for every range. */
  async open(fileId: string): Promise<RemoteFile> {
    const { record } = this.#entryOf(fileId);
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

  /** Opens a file that is read once, from its beginning. */
  async openOnce(fileId: string, signal: AbortSignal): Promise<RemoteFile> {
    return this.#szafa().openFile(fileId, { record: this.#entryOf(fileId).record, signal });
  }

  /** Where a small picture of a file may come from. */
  picturesOf(fileId: string, signal: AbortSignal) {
    return {
      name: this.#entryOf(fileId).name,
      stored: () => this.#szafa().thumbnail(this.#entryOf(fileId), { signal }),
      open: () => this.openOnce(fileId, signal),
    };
  }

  /** Without the entry that a person saw, the service could give any of their files for it. */
  #entryOf(fileId: string): Entry {
    const entry = this.#entries.get(fileId);
    if (!entry) throw new SzafaError('gone', 'this file is not in the list any more');
    return entry;
  }

  /** `gen` of the newest file of this name in this place, as far as the list tells; 0 where there is none. */
  async newestGen({ name, dirId }: { name: string; dirId: number | null }): Promise<number> {
    const here = (entry: Entry) => (entry.dirId || null) === (dirId || null);
    const same = [...this.#entries.values()].filter((entry) => entry.name === name && here(entry));
    if (same.length === 0) return 0;
    const [newest] = await this.#szafa().versions(same);
    return newest?.metadata?.gen ?? 0;
  }

  async info(fileId: string): Promise<FileInfo> {
    const { metadata } = await this.open(fileId);
    const { name, size, mtime, type } = metadata;
    return {
      size,
      type: shownType(name, type),
      ...(mtime !== undefined && { mtime }),
      ahead: isAhead(metadata),
    };
  }

  async readText(fileId: string, most: number): Promise<string> {
    const bytes = await (await this.open(fileId)).readRange(0, most);
    // A character that the limit cuts in two is left out.
    return new TextDecoder().decode(bytes, { stream: true });
  }
}
