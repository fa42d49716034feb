import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import {
  type FileRecord,
  limits,
  parseTrashCursor,
  type TrashedFile,
  toBase64,
  trashCursor,
} from '@szafa/protocol';
import type { FilesTable, ListedFile } from './files-table.ts';
import type { TrashTable } from './trash-table.ts';

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
    ...(file.enc_params !== undefined && { enc_params: toBase64(file.enc_params) }),
  };
}

export interface FilesQuery {
  limit?: string;
  cursor?: string;
  dir_id?: string;
  headers?: '1';
}

/** A list that is read page by page. */
export interface FileListing<Shown extends FileRecord = FileRecord> {
  /** Files of one page, at most. */
  most: number;
  page(cursor: string | undefined, limit: number): Promise<ListedFile[]>;
  /** Where the page after that one begins. */
  cursorAfter(file: ListedFile): string;
  shown(file: ListedFile): Shown;
}

const numberOf = (text: string | undefined) => (text === undefined ? undefined : Number(text));

/** Headers are much longer than the rest of a record, and a page is in memory. */
const mostOf = ({ headers }: FilesQuery) => (headers === undefined ? limits.listPage : limits.headersPage);

/** The caller's files. */
export function filesOf(files: FilesTable, caller: string, query: FilesQuery): FileListing {
  const asked = { dirId: numberOf(query.dir_id), headers: query.headers !== undefined };
  return {
    most: mostOf(query),
    page: (cursor, limit) => files.list(caller, { ...asked, before: numberOf(cursor), limit }),
    cursorAfter: ({ seq }) => String(seq),
    shown: record,
  };
}

/** What is in the caller's trash, and when it may be gone: `keptMs` after it came there. */
export function trashOf(
  trash: TrashTable,
  caller: string,
  query: FilesQuery,
  keptMs: number,
): FileListing<TrashedFile> {
  const time = (ms: number) => new Date(ms).toISOString();
  const asked = { dirId: numberOf(query.dir_id), headers: query.headers !== undefined };
  return {
    most: mostOf(query),
    page: (cursor, limit) => {
      const before = cursor === undefined ? {} : { before: parseTrashCursor(cursor) };
      return trash.list(caller, { ...asked, ...before, limit });
    },
    cursorAfter: ({ trashed_at: trashedAt, seq }) => trashCursor({ trashedAt, seq }),
    shown: (file) => ({
      ...record(file),
      trashed_at: time(file.trashed_at),
      expires_at: time(file.trashed_at + keptMs),
    }),
  };
}

/** No page is longer than `most`, whatever is asked for: SQLite is read while nobody else is served. */
export async function filePage<Shown extends FileRecord>(
  { most: longest, page, cursorAfter, shown }: FileListing<Shown>,
  { limit, cursor }: FilesQuery & { limit: string },
): Promise<{ files: Shown[]; next_cursor?: string }> {
  const most = Math.min(Number(limit), longest);
  const rows = await page(cursor, most + 1);
  const more = rows.length > most;
  const some = more ? rows.slice(0, most) : rows;
  return { files: some.map(shown), ...(more ? { next_cursor: cursorAfter(some.at(-1)!) } : {}) };
}

/**
 * The whole list as JSON text, read and sent page by page: memory does not grow with the number of files. The first page is
 * read before anything is said, so that a database that is away is told by a status; one that goes away later breaks the
 * connection off.
 */
export async function wholeList(listing: FileListing, { cursor }: FilesQuery): Promise<Readable> {
  const first = await listing.page(cursor, listing.most);
  return Readable.from(texts(first, listing), { objectMode: false });
}

async function* texts(
  first: ListedFile[],
  { most, page, cursorAfter, shown }: FileListing,
): AsyncGenerator<string> {
  const text = (rows: ListedFile[]) => JSON.stringify(rows.map(shown)).slice(1, -1);
  yield `{"files":[${text(first)}`;
  for (let rows = first; rows.length === most; ) {
    // SQLite answers at once, and a fast reader would have us read on and on: others first.
    await setImmediate();
    rows = await page(cursorAfter(rows.at(-1)!), most);
    if (rows.length > 0) yield `,${text(rows)}`;
  }
  yield ']}';
}
