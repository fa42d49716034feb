import type { Metadata } from '../metadata.ts';
import { ApiError } from '../platform/http/api-error.ts';
import { type FileRow, isOwn } from './files-table.ts';
import { unknownFile } from './refusals.ts';

export class Trash {
  readonly #metadata: Pick<Metadata, 'files' | 'trash'>;

  constructor(metadata: Pick<Metadata, 'files' | 'trash'>) {
    this.#metadata = metadata;
  }

  async put(caller: string, ids: string[]): Promise<void> {
    requireAll(await this.#metadata.trash.put(caller, ids, Date.now()));
  }

  async restore(caller: string, ids: string[]): Promise<void> {
    requireAll(await this.#metadata.trash.restore(caller, ids));
  }

  /** Finds a file in the caller's trash. */
  async find(caller: string, fileId: string): Promise<FileRow> {
    const file = await this.#metadata.files.get(fileId);
    if (!file || !isOwn(caller, file) || file.trashed_at === 0) throw unknownFile();
    return file;
  }

  /** Deletes those of these files that are in the caller's trash; returns how many there were. */
  empty(caller: string, ids: string[]): Promise<number> {
    return this.#metadata.trash.empty(caller, ids, Date.now());
  }
}

/** One file that the caller does not have refuses the whole request. */
function requireAll(unknown: string[]): void {
  if (unknown.length === 0) return;
  throw new ApiError(404, 'you do not have some of these files', { extra: { files: unknown } });
}
