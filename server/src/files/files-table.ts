import { ADMIN, limits, type Volume } from '@szafa/protocol';
import {
  ADMIN_ACCOUNT,
  type Lookup,
  requireLiveAccount,
  SESSION,
  SESSIONS,
  type SessionRow,
  sessionOf,
} from '../accounts/account-rows.ts';
import { insertInto, Queries, type Sql, type Value } from '../platform/sql/sql.ts';
import { insertTransfer, removeTransferOf, type TransferRow } from '../transfers/transfer-rows.ts';
import {
  copyVolumes,
  ENTRY,
  findVolume,
  listVolumes,
  parseEntry,
  placeOf,
} from '../transfers/volumes-table.ts';
import { outdate } from '../upkeep/documents-table.ts';
import { holdAnyDir, holdDir } from './directories-table.ts';
import { isOverQuota } from './quota-check.ts';
import { thumbnailOf } from './thumbnails-table.ts';
import { addUsage, countedIn, extraOf, holdUsage, moveUsage, type Sums } from './usage.ts';

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
  /** Rises with every change of what the manifest says. */
  rev: number;
  /** When it was put into the trash; 0: it is not there. */
  trashed_at: number;
  /** Its size and digest, as `thumbnailOf` reads them. */
  thumbnail: string | null;
}

export type ListedFile = Omit<FileRow, 'enc_params' | 'stored_size' | 'cloned_from' | 'rev' | 'thumbnail'> & {
  dir_name: string;
  /** Where it was asked for. */
  enc_params?: string;
};

export type NumberedFile = Pick<FileRow, 'seq' | 'file_id' | 'owner' | 'chunk_count' | 'thumbnail'>;

/** What is needed to send one volume. */
export interface ReadableFile extends Pick<FileRow, 'owner' | 'chunk_count' | 'enc_params'> {
  volume: Volume | undefined;
}

/** With `f` for the file and `b` for the block. */
export const READ = `f.owner, f.chunk_count, f.enc_params, ${ENTRY}`;
export const JOIN_BLOCK = 'LEFT JOIN volume_blocks b ON b.file_id = f.file_id AND b.block = ?';
/** Made once: a text that is put together anew for each request is also hashed anew, where the statement is looked for. */
const SESSION_AND_FILE = `SELECT ${SESSION}, ${READ}
  FROM ${SESSIONS} LEFT JOIN files f ON f.file_id = ? AND f.trashed_at = 0 ${JOIN_BLOCK} WHERE s.token_hash = ?`;
export type ReadRow = Omit<ReadableFile, 'volume'> & { entry: string | null };

/** The parameters of these for one volume, and what a row says of it. */
export function readAt(idx: number) {
  const inRange = idx >= 1 && idx <= limits.volumesPerFile;
  const [start, block] = placeOf(inRange ? idx : 1);
  const parse = ({ owner, chunk_count, enc_params, entry }: ReadRow): ReadableFile => ({
    owner,
    chunk_count,
    enc_params,
    volume: inRange ? parseEntry(entry, idx) : undefined,
  });
  return { start, block, parse };
}

/** A file that was removed, with the transfer that it came about by. */
export interface RemovedFile {
  file: FileRow;
  accountId: string;
  transfer: TransferRow | undefined;
}

export interface ListOptions {
  dirId?: number | undefined;
  /** With `enc_params` of each. */
  headers?: boolean | undefined;
  /** Only files older than the one with this number. */
  before?: number | undefined;
  limit: number;
}

export const FILE_COLUMNS = [
  ...['seq', 'file_id', 'owner', 'dir_id', 'file_name', 'size', 'stored_size', 'sha256', 'chunk_count'],
  ...['created_at', 'cloned_from', 'enc_params', 'rev', 'trashed_at', 'thumbnail'],
] as const;
const COLUMNS = FILE_COLUMNS.join(', ');

/** A row and its place in the sums, in one transaction. */
export async function insertFile(
  tx: Sql,
  file: Omit<FileRow, 'seq'> & { seq?: number | undefined },
): Promise<void> {
  const columns = FILE_COLUMNS.filter((column) => file[column] !== undefined);
  await tx.execute(insertInto('files', columns), ...columns.map((column) => file[column]!));
  await addUsage(tx, file.owner, countedIn(file), sumsOf(file, 1));
}

function sumsOf(file: Omit<FileRow, 'seq'>, sign: 1 | -1): Sums {
  return {
    files: sign,
    bytes: sign * file.size,
    counted: sign * countedOf(file),
    extra: sign * extraOf(file),
  };
}

/** What counts toward an enforced quota. */
export const countedOf = (file: Pick<FileRow, 'size' | 'stored_size'>) =>
  Math.max(file.size, file.stored_size);

/** SELECT of what a list shows of the caller's files, or of those in one directory; a condition may follow. */
export function listing(
  caller: string,
  { dirId, headers }: { dirId?: number | undefined; headers?: boolean | undefined },
): { select: string; params: Value[] } {
  const owner = caller === ADMIN ? `f.owner IN ('${ADMIN}', '')` : 'f.owner = ?';
  // For the directory, then for the files.
  const params: Value[] = caller === ADMIN ? [caller] : [caller, caller];
  if (dirId !== undefined) params.push(dirId);
  const select = `SELECT f.seq, f.file_id, f.owner, f.dir_id, f.file_name, f.size, f.sha256, f.chunk_count,
      f.created_at, f.trashed_at, COALESCE(d.name, '') AS dir_name${headers ? ', f.enc_params' : ''}
    FROM files f LEFT JOIN dirs d ON d.dir_id = f.dir_id AND d.owner = ?
    WHERE ${owner} ${dirId === undefined ? '' : 'AND f.dir_id = ?'}`;
  return { select, params };
}

/** An id of another form is nobody's, and some databases take not every text. */
export const isFileId = (id: string) => /^[0-9a-f]{32}$/.test(id);

/** Whether the caller may use the file: those without an owner are the administrator's. */
export const isOwn = (caller: string, { owner }: Pick<FileRow, 'owner'>) =>
  owner === caller || (caller === ADMIN && owner === '');

/** One file: which rows a change holds, and in which order, must be seen together. */
export class FilesTable extends Queries {
  /** Also one that is in the trash. */
  async get(fileId: string): Promise<FileRow | undefined> {
    const [row] = await this.sql.query<FileRow>(`SELECT ${COLUMNS} FROM files WHERE file_id = ?`, fileId);
    return row;
  }

  /** Whose it is, and in which directory. */
  async place(fileId: string): Promise<Pick<FileRow, 'owner' | 'dir_id'> | undefined> {
    const [row] = await this.sql.query<Pick<FileRow, 'owner' | 'dir_id'>>(
      'SELECT owner, dir_id FROM files WHERE file_id = ?',
      fileId,
    );
    return row;
  }

  /** The same of several. */
  places(ids: string[]): Promise<Pick<FileRow, 'owner' | 'dir_id'>[]> {
    return this.sql.query<Pick<FileRow, 'owner' | 'dir_id'>>(
      `SELECT owner, dir_id FROM files WHERE file_id ${this.sql.dialect.amongListed}`,
      JSON.stringify(ids.filter(isFileId)),
    );
  }

  /** Of these files, those that are there and not in the trash, in no order: what is needed to show their thumbnails. */
  withThumbnails(ids: string[]): Promise<Pick<FileRow, 'file_id' | 'owner' | 'enc_params' | 'thumbnail'>[]> {
    return this.sql.query(
      `SELECT file_id, owner, enc_params, thumbnail FROM files
       WHERE trashed_at = 0 AND file_id ${this.sql.dialect.amongListed}`,
      JSON.stringify(ids.filter(isFileId)),
    );
  }

  /** The file and one of its volumes, in one look. */
  async readable(fileId: string, idx: number): Promise<ReadableFile | undefined> {
    const { start, block, parse } = readAt(idx);
    const [row] = await this.sql.query<ReadRow>(
      `SELECT ${READ} FROM files f ${JOIN_BLOCK} WHERE f.file_id = ? AND f.trashed_at = 0`,
      start,
      block,
      fileId,
    );
    return row && parse(row);
  }

  /** For `Sessions.identify`: the file and one of its volumes, whoever owns it. */
  lookUp(fileId: string, idx: number): Lookup<{ file: ReadableFile | undefined }> {
    return {
      admin: async () => ({ file: await this.readable(fileId, idx) }),
      session: async (tokenHash) => {
        const { start, block, parse } = readAt(idx);
        const [row] = await this.sql.query<SessionRow & (ReadRow | { owner: null })>(
          SESSION_AND_FILE,
          start,
          fileId,
          block,
          tokenHash,
        );
        if (!row) return undefined;
        return { ...sessionOf(row), file: row.owner === null ? undefined : parse(row) };
      },
    };
  }

  /** The number of the newest file, by which it shows that one was made. */
  async newest(): Promise<number> {
    const [row] = await this.sql.query<{ newest: number | null }>('SELECT MAX(seq) AS newest FROM files');
    return row!.newest ?? 0;
  }

  /** In the order of their numbers, for whoever looks at all of them. */
  numbered(from: number, until: number, limit: number): Promise<NumberedFile[]> {
    return this.sql.query<NumberedFile>(
      `SELECT seq, file_id, owner, chunk_count, thumbnail FROM files WHERE seq >= ? AND seq <= ?
       ORDER BY seq LIMIT ?`,
      from,
      until,
      limit,
    );
  }

  volume(fileId: string, idx: number): Promise<Volume | undefined> {
    return findVolume(this.sql, fileId, idx);
  }

  async thumbnail(fileId: string): Promise<Volume | undefined> {
    const file = await this.get(fileId);
    return file && thumbnailOf(file);
  }

  volumes(fileId: string): Promise<Volume[]> {
    return listVolumes(this.sql, fileId);
  }

  /** One page, newest first. */
  list(
    caller: string,
    { dirId, headers, before = Number.MAX_SAFE_INTEGER, limit }: ListOptions,
  ): Promise<ListedFile[]> {
    const { select, params } = listing(caller, { dirId, headers });
    return this.sql.query<ListedFile>(
      `${select} AND f.trashed_at = 0 AND f.seq < ? ORDER BY f.seq DESC LIMIT ?`,
      ...[...params, before, limit],
    );
  }

  /** `file` as it was found; it may be elsewhere by now. */
  move(file: FileRow, owner: string, dirId: number): Promise<'moved' | 'no file' | 'no directory'> {
    return this.sql.transaction(async (tx) => {
      if (!(await holdDir(tx, owner, dirId))) return 'no directory';
      let from = file.dir_id;
      if (!(await place(tx, file.file_id, from, dirId))) {
        const now = await lockFile(tx, file.file_id);
        if (!now || now.trashed_at > 0) return 'no file';
        from = now.dir_id;
        await place(tx, file.file_id, from, dirId);
      }
      await moveUsage(tx, file.owner, [from, dirId], sumsOf(file, 1));
      return 'moved';
    });
  }

  /** Takes the record and its transfer away, and leaves the volumes to the sweeper from `notBefore` on. */
  remove(fileId: string, notBefore: number): Promise<RemovedFile | undefined> {
    return this.sql.transaction(async (tx) => {
      const [gone] = await tx.execute<FileRow & { account_id: string | null }>(
        `DELETE FROM files WHERE file_id = ?
         RETURNING ${COLUMNS}, (SELECT u.account_id FROM accounts u WHERE u.username = files.owner) AS account_id`,
        fileId,
      );
      if (!gone) return undefined;
      const { account_id, ...file } = gone;
      await addUsage(tx, file.owner, countedIn(file), sumsOf(file, -1));
      await tx.execute('INSERT INTO garbage (file_id, not_before) VALUES (?, ?)', fileId, notBefore);
      return { file, accountId: account_id ?? ADMIN_ACCOUNT, transfer: await removeTransferOf(tx, fileId) };
    });
  }

  /** Puts a record back whose volumes could not be removed, unless the lease of `remove` is over and lost. */
  restore({ file, accountId, transfer }: RemovedFile, notBefore: number): Promise<void> {
    return this.sql.transaction(async (tx) => {
      await requireLiveAccount(tx, accountId);
      const held = await tx.execute(
        'DELETE FROM garbage WHERE file_id = ? AND not_before = ? RETURNING file_id',
        file.file_id,
        notBefore,
      );
      if (held.length === 0) return;
      // Whoever owns it: files without an owner, and those completed by somebody else, are in others' directories.
      const dirId = (await holdAnyDir(tx, file.dir_id)) ? file.dir_id : 0;
      // The directory may be another one now, and whoever saw that the record was gone may have taken the manifest away.
      await insertFile(tx, { ...file, dir_id: dirId, rev: file.rev + 1 });
      await outdate(tx, file.file_id, file.rev + 1);
      if (transfer) await insertTransfer(tx, transfer);
    });
  }

  /** Reserves the copy target of (file, directory), and its bytes within the quota; it is garbage until `finishClone`. */
  beginClone(
    source: FileRow,
    target: { fileId: string; owner: string; accountId?: string; dirId: number; leaseUntil: number },
    quota?: number,
  ): Promise<'begun' | 'exists' | 'no directory' | 'over quota'> {
    return this.sql.transaction(async (tx) => {
      await requireLiveAccount(tx, target.accountId ?? ADMIN_ACCOUNT);
      if (!(await holdDir(tx, target.owner, target.dirId))) return 'no directory';
      // A clone that finishes at this moment has either left its file for the next line, or not begun to.
      await lockFile(tx, source.file_id);
      const copies = await tx.query(
        'SELECT file_id FROM files WHERE cloned_from = ? AND owner = ? AND dir_id = ? AND trashed_at = 0',
        source.file_id,
        target.owner,
        target.dirId,
      );
      if (copies.length > 0) return 'exists';
      const [counted, extra] = [countedOf(source), extraOf(source)];
      if (quota !== undefined) {
        await holdUsage(tx, target.owner);
        if (await isOverQuota(tx, target.owner, quota, { counted, extra })) return 'over quota';
      }
      const claimed = await tx.execute(
        `INSERT INTO garbage (file_id, not_before, clone_key, owner, clone_bytes, clone_extra_bytes) VALUES (?, ?, ?, ?, ?, ?)
         ON CONFLICT DO NOTHING RETURNING file_id`,
        target.fileId,
        target.leaseUntil,
        `clone ${source.file_id} ${target.owner} ${target.dirId}`,
        target.owner,
        counted,
        extra,
      );
      return claimed.length === 1 ? 'begun' : 'exists';
    });
  }

  /** `copied`: the source as it was when its volumes and its thumbnail were copied. */
  finishClone(
    copied: Pick<FileRow, 'file_id' | 'rev' | 'thumbnail'>,
    target: { fileId: string; owner: string; dirId: number; now: number },
  ): Promise<'done' | 'source vanished' | 'lease lost'> {
    return this.sql.transaction(async (tx) => {
      const dirId = (await holdDir(tx, target.owner, target.dirId)) ? target.dirId : 0;
      const sourceId = copied.file_id;
      const source = await lockFile(tx, sourceId);
      if (!source || source.trashed_at > 0) return 'source vanished';
      const held = await tx.execute(
        'DELETE FROM garbage WHERE file_id = ? AND clone_key IS NOT NULL RETURNING file_id',
        target.fileId,
      );
      if (held.length === 0) return 'lease lost';
      await copyVolumes(tx, sourceId, target.fileId);
      const { seq: _, ...same } = source;
      await insertFile(tx, {
        ...same,
        file_id: target.fileId,
        owner: target.owner,
        dir_id: dirId,
        created_at: target.now,
        cloned_from: sourceId,
        rev: 0,
        thumbnail: copied.thumbnail,
      });
      // The manifest was written before.
      if (dirId !== target.dirId || source.rev !== copied.rev) await outdate(tx, target.fileId, 0);
      return 'done';
    });
  }
}

/** False when the file is not in `from`, or in the trash. */
async function place(tx: Sql, fileId: string, from: number, to: number): Promise<boolean> {
  const [row] = await tx.execute<{ rev: number }>(
    `UPDATE files SET dir_id = ?, rev = rev + 1
     WHERE file_id = ? AND dir_id = ? AND trashed_at = 0 RETURNING rev`,
    to,
    fileId,
    from,
  );
  if (!row) return false;
  await outdate(tx, fileId, row.rev);
  return true;
}

async function lockFile(tx: Sql, fileId: string): Promise<FileRow | undefined> {
  const [file] = await tx.query<FileRow>(
    `SELECT ${COLUMNS} FROM files WHERE file_id = ? ${tx.dialect.forUpdate}`,
    fileId,
  );
  return file;
}
