import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { type FileRecord, limits } from '@szafa/protocol';
import type { FilesTable, ListedFile } from '../metadata/files.ts';

function record(file: ListedFile): FileRecord {
  return {
    file_id: file.file_id,
    file_name: file.file_name,
    size: file.size,
    sha256: file.sha256,
    user_id: file.owner === '' ? null : file.owner,
    dir_id: file.dir_id === 0 ? null : file.dir_id,
    dir_name: file.dir_name,
    chunk_count: file.chunk_count,
    created_at: new Date(file.created_at).toISOString(),
  };
}

export interface FilesQuery {
  limit?: string;
  cursor?: string;
  dir_id?: string;
}

/** No page is longer than `limits.listPage`, whatever is asked for: SQLite is read while nobody else is served. */
export async function filePage(files: FilesTable, caller: string, query: FilesQuery & { limit: string }) {
  const limit = Math.min(Number(query.limit), limits.listPage);
  const rows = await files.list(caller, { ...selection(query), limit: limit + 1 });
  const more = rows.length > limit;
  const page = more ? rows.slice(0, limit) : rows;
  return { files: page.map(record), ...(more ? { next_cursor: String(page.at(-1)!.seq) } : {}) };
}

/**
 * The whole list as JSON text, read and sent page by page: memory does not grow with the number of files. The first page is
 * read before anything is said, so that a database that is away is told by a status; one that goes away later breaks the
 * connection off.
 */
export async function wholeList(files: FilesTable, caller: string, query: FilesQuery): Promise<Readable> {
  const page = (before = selection(query).before) =>
    files.list(caller, { ...selection(query), before, limit: limits.listPage });
  return Readable.from(texts(await page(), page), { objectMode: false });
}

async function* texts(
  first: ListedFile[],
  page: (before: number) => Promise<ListedFile[]>,
): AsyncGenerator<string> {
  const text = (rows: ListedFile[]) => JSON.stringify(rows.map(record)).slice(1, -1);
  yield `{"files":[${text(first)}`;
  for (let rows = first; rows.length === limits.listPage; ) {
    // SQLite answers at once, and a fast reader would have us read on and on: others first.
    await setImmediate();
    rows = await page(rows.at(-1)!.seq);
    if (rows.length > 0) yield `,${text(rows)}`;
  }
  yield ']}';
}

function selection({ dir_id, cursor }: FilesQuery) {
  const numberOf = (text: string | undefined) => (text === undefined ? undefined : Number(text));
  return { dirId: numberOf(dir_id), before: numberOf(cursor) };
}
