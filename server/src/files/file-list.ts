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
import type { FileListRow, FilesTable } from './files-table.ts';
import type { TrashTable } from './trash-table.ts';

export interface FilesQuery {
  limit?: string;
  cursor?: string;
  dir_id?: string;
  headers?: '1';
}

/** A list of files that is read page by page. */
export interface FileList<Entry extends FileRecord = FileRecord> {
  pageSize: number;
  page(cursor: string | undefined, limit: number): Promise<FileListRow[]>;
  /** The cursor of the page that follows this file. */
  cursorAfter(file: FileListRow): string;
  toEntry(file: FileListRow): Entry;
}

const toNumber = (text: string | undefined) => (text === undefined ? undefined : Number(text));

function toEntry(file: FileListRow): FileRecord {
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

/** Pages with headers are smaller: a page is held in memory, and headers are much longer than the rest of a record. */
function listOptions({ dir_id, headers }: FilesQuery) {
  const pageSize = headers === undefined ? limits.listPage : limits.headersPage;
  return { pageSize, options: { dirId: toNumber(dir_id), headers: headers !== undefined } };
}

/** The caller's files. */
export function fileList(files: FilesTable, caller: string, query: FilesQuery): FileList {
  const { pageSize, options } = listOptions(query);
  return {
    pageSize,
    page: (cursor, limit) => files.list(caller, { ...options, before: toNumber(cursor), limit }),
    cursorAfter: ({ seq }) => String(seq),
    toEntry,
  };
}

/** The caller's trash. A file may be deleted `keptMs` after it was put there. */
export function trashList(
  trash: TrashTable,
  caller: string,
  query: FilesQuery,
  keptMs: number,
): FileList<TrashedFile> {
  const time = (ms: number) => new Date(ms).toISOString();
  const { pageSize, options } = listOptions(query);
  return {
    pageSize,
    page: (cursor, limit) => {
      const before = cursor === undefined ? {} : { before: parseTrashCursor(cursor) };
      return trash.list(caller, { ...options, ...before, limit });
    },
    cursorAfter: ({ trashed_at: trashedAt, seq }) => trashCursor({ trashedAt, seq }),
    toEntry: (file) => ({
      ...toEntry(file),
      trashed_at: time(file.trashed_at),
      expires_at: time(file.trashed_at + keptMs),
    }),
  };
}

/** Reads one page, never longer than the list's page size: SQLite blocks all other requests while it reads. */
export async function readPage<Entry extends FileRecord>(
  list: FileList<Entry>,
  { limit, cursor }: FilesQuery & { limit: string },
): Promise<{ files: Entry[]; next_cursor?: string }> {
  const size = Math.min(Number(limit), list.pageSize);
  const rows = await list.page(cursor, size + 1);
  const hasMore = rows.length > size;
  const page = hasMore ? rows.slice(0, size) : rows;
  const next = hasMore ? { next_cursor: list.cursorAfter(page.at(-1)!) } : {};
  return { files: page.map((file) => list.toEntry(file)), ...next };
}

/**
 * Streams the whole list as JSON, page by page, so that memory does not grow with the number of files. Reads the first page
 * before it returns, so that a failing database still gives an error status. A later failure breaks the connection.
 */
export async function streamList(list: FileList, { cursor }: FilesQuery): Promise<Readable> {
  const first = await list.page(cursor, list.pageSize);
  return Readable.from(listTexts(first, list), { objectMode: false });
}

async function* listTexts(
  first: FileListRow[],
  { pageSize, page, cursorAfter, toEntry: entry }: FileList,
): AsyncGenerator<string> {
  const text = (rows: FileListRow[]) => JSON.stringify(rows.map(entry)).slice(1, -1);
  yield `{"files":[${text(first)}`;
  for (let rows = first; rows.length === pageSize; ) {
    // SQLite answers synchronously: without this, a fast reader would keep other requests waiting.
    await setImmediate();
    rows = await page(cursorAfter(rows.at(-1)!), pageSize);
    if (rows.length > 0) yield `,${text(rows)}`;
  }
  yield ']}';
}
