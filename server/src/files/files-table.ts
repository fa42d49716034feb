import { ADMIN, limits, type Volume } from '@szafa/protocol';
import { type Lookup, SESSION, SESSIONS, type SessionRow, sessionOf } from '../accounts/account-rows.ts';
import { first, Queries, type Value } from '../platform/sql/sql.ts';
import { ENTRY, findVolume, listVolumes, parseEntry, placeOf } from '../transfers/volumes-table.ts';
import { thumbnailOf } from './thumbnails-table.ts';

export interface FileRow {
  seq: number;
  file_id: string;
  owner: string;
  dir_id: number;
  file_name: string;
  size: number;
  stored_size: number;
  sha256: string;
  chunk_count: number;
  created_at: number;
  cloned_from: string | null;
  enc_params: string;
  /** Incremented by every change of the manifest's content. */
  rev: number;
  /** When the file was put into the trash; 0 if it is not there. */
  trashed_at: number;
  /** Size and digest; see `thumbnailOf`. */
  thumbnail: string | null;
}

export const FILE_COLUMNS = [
  ...['seq', 'file_id', 'owner', 'dir_id', 'file_name', 'size', 'stored_size', 'sha256', 'chunk_count'],
  ...['created_at', 'cloned_from', 'enc_params', 'rev', 'trashed_at', 'thumbnail'],
] as const;
export const COLUMNS = FILE_COLUMNS.join(', ');

/** Filters ids before they reach the database: PostgreSQL rejects some text, such as NUL. */
export const isFileId = (id: string) => /^[0-9a-f]{32}$/.test(id);

/** Whether the caller may use the file. Files without an owner are the administrator's. */
export const isOwn = (caller: string, { owner }: Pick<FileRow, 'owner'>) =>
  owner === caller || (caller === ADMIN && owner === '');

/** A file as shown in lists. */
export interface FileListRow
  extends Omit<FileRow, 'enc_params' | 'stored_size' | 'cloned_from' | 'rev' | 'thumbnail'> {
  dir_name: string;
  /** Present only on request. */
  enc_params?: string;
}

export interface ListOptions {
  dirId?: number | undefined;
  /** Includes the `enc_params` of each file. */
  headers?: boolean | undefined;
  /** Only files with a lower sequence number. */
  before?: number | undefined;
  limit: number;
}

/** Builds the SELECT of the caller's files, or of those in one directory; callers append conditions. */
export function selectList(caller: string, { dirId, headers }: Pick<ListOptions, 'dirId' | 'headers'>) {
  const owner = caller === ADMIN ? `f.owner IN ('${ADMIN}', '')` : 'f.owner = ?';
  // The directory's owner, then the file's owner.
  const params: Value[] = caller === ADMIN ? [caller] : [caller, caller];
  if (dirId !== undefined) params.push(dirId);
  const select = `SELECT f.seq, f.file_id, f.owner, f.dir_id, f.file_name, f.size, f.sha256, f.chunk_count,
      f.created_at, f.trashed_at, COALESCE(d.name, '') AS dir_name${headers ? ', f.enc_params' : ''}
    FROM files f LEFT JOIN dirs d ON d.dir_id = f.dir_id AND d.owner = ?
    WHERE ${owner} ${dirId === undefined ? '' : 'AND f.dir_id = ?'}`;
  return { select, params };
}

/** A file with the data needed to send one of its volumes. */
export interface ReadableFile extends Pick<FileRow, 'owner' | 'chunk_count' | 'enc_params'> {
  volume: Volume | undefined;
}
export type ReadableRow = Omit<ReadableFile, 'volume'> & { entry: string | null };

/** The columns of `ReadableRow`, where `f` is the file and `b` the block of its volumes. */
export const READABLE = `f.owner, f.chunk_count, f.enc_params, ${ENTRY}`;
export const JOIN_BLOCK = 'LEFT JOIN volume_blocks b ON b.file_id = f.file_id AND b.block = ?';
/** A constant, because prepared statements are looked up by their text, and hashing a new string costs time on every request. */
const SESSION_AND_FILE = `SELECT ${SESSION}, ${READABLE}
  FROM ${SESSIONS} LEFT JOIN files f ON f.file_id = ? AND f.trashed_at = 0 ${JOIN_BLOCK} WHERE s.token_hash = ?`;

/** Returns the parameters of READABLE and JOIN_BLOCK for one volume, and a parser for the row. */
export function readableAt(idx: number) {
  const inRange = idx >= 1 && idx <= limits.volumesPerFile;
  const [start, block] = placeOf(inRange ? idx : 1);
  const parse = ({ owner, chunk_count, enc_params, entry }: ReadableRow): ReadableFile => ({
    owner,
    chunk_count,
    enc_params,
    volume: inRange ? parseEntry(entry, idx) : undefined,
  });
  return { start, block, parse };
}

type FileLocation = Pick<FileRow, 'owner' | 'dir_id'>;
export type NumberedFile = Pick<FileRow, 'seq' | 'file_id' | 'owner' | 'chunk_count' | 'thumbnail'>;

/** Reads files. Changes are in file-changes-table.ts and trash-table.ts. */
export class FilesTable extends Queries {
  /** Also finds a file in the trash. */
  get(fileId: string): Promise<FileRow | undefined> {
    return first<FileRow>(this.sql, `SELECT ${COLUMNS} FROM files WHERE file_id = ?`, fileId);
  }

  locations(ids: string[]): Promise<FileLocation[]> {
    const text = `SELECT owner, dir_id FROM files WHERE file_id ${this.sql.dialect.inJsonList}`;
    return this.sql.query<FileLocation>(text, JSON.stringify(ids.filter(isFileId)));
  }

  /** Returns the files that exist and are not in the trash, unordered. */
  withThumbnails(ids: string[]): Promise<Pick<FileRow, 'file_id' | 'owner' | 'enc_params' | 'thumbnail'>[]> {
    return this.sql.query(
      `SELECT file_id, owner, enc_params, thumbnail FROM files
       WHERE trashed_at = 0 AND file_id ${this.sql.dialect.inJsonList}`,
      JSON.stringify(ids.filter(isFileId)),
    );
  }

  /** Reads a file and one of its volumes in one query. */
  async readable(fileId: string, idx: number): Promise<ReadableFile | undefined> {
    const { start, block, parse } = readableAt(idx);
    const text = `SELECT ${READABLE} FROM files f ${JOIN_BLOCK} WHERE f.file_id = ? AND f.trashed_at = 0`;
    const [row] = await this.sql.query<ReadableRow>(text, start, block, fileId);
    return row && parse(row);
  }

  /** For `Sessions.identify`: a file of any owner, and one of its volumes. */
  lookUp(fileId: string, idx: number): Lookup<{ file: ReadableFile | undefined }> {
    return {
      admin: async () => ({ file: await this.readable(fileId, idx) }),
      session: async (tokenHash) => {
        const { start, block, parse } = readableAt(idx);
        const [row] = await this.sql.query<SessionRow & (ReadableRow | { owner: null })>(
          SESSION_AND_FILE,
          ...[start, fileId, block, tokenHash],
        );
        if (!row) return undefined;
        return { ...sessionOf(row), file: row.owner === null ? undefined : parse(row) };
      },
    };
  }

  /** The sequence number of the newest file. Every new file has a higher one. */
  async newest(): Promise<number> {
    const [row] = await this.sql.query<{ newest: number | null }>('SELECT MAX(seq) AS newest FROM files');
    return row!.newest ?? 0;
  }

  /** One page of all files, ordered by sequence number. */
  numbered(from: number, until: number, limit: number): Promise<NumberedFile[]> {
    return this.sql.query<NumberedFile>(
      `SELECT seq, file_id, owner, chunk_count, thumbnail FROM files WHERE seq >= ? AND seq <= ?
       ORDER BY seq LIMIT ?`,
      ...[from, until, limit],
    );
  }

  volume(fileId: string, idx: number): Promise<Volume | undefined> {
    return findVolume(this.sql, fileId, idx);
  }

  volumes(fileId: string): Promise<Volume[]> {
    return listVolumes(this.sql, fileId);
  }

  async thumbnail(fileId: string): Promise<Volume | undefined> {
    const file = await this.get(fileId);
    return file && thumbnailOf(file);
  }

  /** One page, newest first. */
  list(caller: string, options: ListOptions): Promise<FileListRow[]> {
    const { before = Number.MAX_SAFE_INTEGER, limit } = options;
    const { select, params } = selectList(caller, options);
    const text = `${select} AND f.trashed_at = 0 AND f.seq < ? ORDER BY f.seq DESC LIMIT ?`;
    return this.sql.query<FileListRow>(text, ...params, before, limit);
  }
}
