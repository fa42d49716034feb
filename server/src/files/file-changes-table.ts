/**
 * Every change of a file's record. To avoid deadlocks, locks are always taken in this order: account, directories by number,
 * files by id, sums (quota.ts).
 */
import { hash } from 'node:crypto';
import { type NewName, toBase64 } from '@szafa/protocol';
import { ADMIN_ACCOUNT, requireLiveAccount } from '../accounts/account-rows.ts';
import {
  exists,
  first,
  insertInto,
  Queries,
  Rollback,
  rollbackReason,
  type Sql,
} from '../platform/sql/sql.ts';
import { insertTransfer, removeTransferOf, type TransferRow } from '../transfers/transfer-rows.ts';
import { copyVolumes } from '../transfers/volumes-table.ts';
import { markStale } from '../upkeep/documents-table.ts';
import { lockAnyDir, lockDir } from './directories-table.ts';
import { COLUMNS, FILE_COLUMNS, type FileRow, isFileId, isOwn } from './files-table.ts';
import {
  addExtra,
  countedIn,
  countedOf,
  EXTRA,
  extraOf,
  isOverAllowance,
  isOverQuota,
  lockUsage,
  moveUsage,
} from './quota.ts';

type NewFile = Omit<FileRow, 'seq'> & { seq?: number | undefined };

/** Inserts a file and adds it to the sums; part of a transaction. */
export async function insertFile(tx: Sql, file: NewFile): Promise<void> {
  const columns = FILE_COLUMNS.filter((column) => file[column] !== undefined);
  await tx.execute(insertInto('files', columns), ...columns.map((column) => file[column]!));
  await moveUsage(tx, [{ ...file, extra: extraOf(file), from: 'nowhere', to: countedIn(file) }]);
}

type LockedColumns = 'file_id' | 'owner' | 'dir_id' | 'size' | 'stored_size' | 'trashed_at';
export type LockedFile = Pick<FileRow, LockedColumns> & { extra: number };

export const LOCKED_COLUMNS = `file_id, owner, dir_id, size, stored_size, trashed_at, ${EXTRA} AS extra`;

/** Locks files of any owner until the transaction ends, in the order of their ids. */
export function lockFiles<Row = LockedFile>(tx: Sql, ids: string[], columns = LOCKED_COLUMNS) {
  return tx.query<Row>(
    `SELECT ${columns} FROM files WHERE file_id ${tx.dialect.inJsonList}
     ORDER BY file_id ${tx.dialect.forUpdate}`,
    JSON.stringify(ids.filter(isFileId)),
  );
}

/** Deletes locked files and their transfers; the sweeper removes the volumes. */
export async function removeFiles(tx: Sql, files: LockedFile[], now: number): Promise<void> {
  if (files.length === 0) return;
  const among = `file_id ${tx.dialect.inJsonList}`;
  const ids = JSON.stringify(files.map(({ file_id }) => file_id));
  await tx.execute(
    `INSERT INTO garbage (file_id, not_before) SELECT file_id, CAST(? AS BIGINT) FROM files WHERE ${among}`,
    ...[now, ids],
  );
  await tx.execute(`DELETE FROM files WHERE ${among}`, ids);
  const text = `DELETE FROM transfers WHERE ${among} RETURNING transfer_id`;
  const transfers = await tx.execute<{ transfer_id: string }>(text, ids);
  await tx.execute(
    `DELETE FROM pulls WHERE lease_until = 0 AND transfer_id ${tx.dialect.inJsonList}`,
    JSON.stringify(transfers.map(({ transfer_id }) => transfer_id)),
  );
  const moves = files.map((file) => ({ ...file, from: countedIn(file), to: 'nowhere' as const }));
  await moveUsage(tx, moves);
}

/** A file that was removed, with the transfer that created it. */
export interface RemovedFile {
  file: FileRow;
  accountId: string;
  transfer: TransferRow | undefined;
}

export interface CloneTarget {
  fileId: string;
  owner: string;
  dirId: number;
}

export class FileChangesTable extends Queries {
  /** Moves a file that was read earlier; it may be in another directory by now. */
  move(file: FileRow, owner: string, dirId: number): Promise<'moved' | 'no file' | 'no directory'> {
    return this.sql.transaction(async (tx) => {
      if (!(await lockDir(tx, owner, dirId))) return 'no directory';
      let from = file.dir_id;
      if (!(await moveBetween(tx, file.file_id, from, dirId))) {
        const now = await lockFile(tx, file.file_id);
        if (!now || now.trashed_at > 0) return 'no file';
        from = now.dir_id;
        await moveBetween(tx, file.file_id, from, dirId);
      }
      await moveUsage(tx, [{ ...file, extra: 0, from, to: dirId }]);
      return 'moved';
    });
  }

  /** Renames and moves all files or none. Returns the files that prevent it: those that are not the caller's, or have changed. */
  rename(
    caller: string,
    names: NewName[],
    { inTrash = false, quota }: { inTrash?: boolean; quota?: number | undefined } = {},
  ): Promise<string[] | 'no directory' | 'over quota'> {
    const renamed = this.sql.transaction<string[] | 'no directory'>(async (tx) => {
      if (!(await lockDirs(tx, caller, names))) return 'no directory';
      const ids = names.map(({ fileId }) => fileId);
      type Row = LockedFile & { enc_params: string };
      const locked = await lockFiles<Row>(tx, ids, `${LOCKED_COLUMNS}, enc_params`);
      const own = locked.filter((file) => isOwn(caller, file) && file.trashed_at > 0 === inTrash);
      const files = new Map(own.map((file) => [file.file_id, file]));
      const refused = names.filter(({ fileId, match }) => digestOf(files.get(fileId)?.enc_params) !== match);
      if (refused.length > 0) return refused.map(({ fileId }) => fileId);
      for (const { fileId, fileName, encParams, dirId } of names) {
        const [row] = await tx.execute<{ rev: number }>(
          // A renamed clone no longer counts as a clone: its source may be cloned into the same directory again.
          `UPDATE files SET file_name = ?, enc_params = ?, dir_id = ?, cloned_from = NULL, rev = rev + 1
           WHERE file_id = ? RETURNING rev`,
          ...[fileName, encParams, dirId ?? files.get(fileId)!.dir_id, fileId],
        );
        await markStale(tx, fileId, row!.rev);
      }
      const moves = names.map(({ fileId, dirId }) => {
        const file = files.get(fileId)!;
        const from = countedIn(file);
        return { ...file, from, to: dirId ?? from };
      });
      await moveUsage(tx, moves);
      const growth = new Map<string, number>();
      for (const { fileId, encParams } of names) {
        const { owner, enc_params } = files.get(fileId)!;
        const more = Buffer.byteLength(encParams) - Buffer.byteLength(enc_params);
        growth.set(owner, (growth.get(owner) ?? 0) + more);
      }
      for (const [owner, bytes] of growth) if (bytes !== 0) await addExtra(tx, owner, bytes);
      const grows = growth.values().some((bytes) => bytes > 0);
      if (quota !== undefined && grows && (await isOverAllowance(tx, caller, quota)))
        throw new Rollback('over quota');
      return [];
    });
    return renamed.catch(rollbackReason<'over quota'>);
  }

  /** Deletes the record and its transfer; the sweeper may remove the volumes from `notBefore` on. */
  remove(fileId: string, notBefore: number): Promise<RemovedFile | undefined> {
    return this.sql.transaction(async (tx) => {
      const [row] = await tx.execute<FileRow & { account_id: string | null }>(
        `DELETE FROM files WHERE file_id = ?
         RETURNING ${COLUMNS}, (SELECT u.account_id FROM accounts u WHERE u.username = files.owner) AS account_id`,
        fileId,
      );
      if (!row) return undefined;
      const { account_id, ...file } = row;
      await moveUsage(tx, [{ ...file, extra: extraOf(file), from: countedIn(file), to: 'nowhere' }]);
      await tx.execute('INSERT INTO garbage (file_id, not_before) VALUES (?, ?)', fileId, notBefore);
      return { file, accountId: account_id ?? ADMIN_ACCOUNT, transfer: await removeTransferOf(tx, fileId) };
    });
  }

  /**
   * Undoes `remove` when the volumes could not be removed. Does nothing if the lease has expired and the sweeper has taken
   * the volumes.
   */
  restore({ file, accountId, transfer }: RemovedFile, notBefore: number): Promise<void> {
    return this.sql.transaction(async (tx) => {
      await requireLiveAccount(tx, accountId);
      const lease = 'DELETE FROM garbage WHERE file_id = ? AND not_before = ? RETURNING file_id';
      if ((await tx.execute(lease, file.file_id, notBefore)).length === 0) return;
      // The directory may have any owner: a file without an owner, or completed by another account, may be in someone else's
      // directory.
      const dirId = (await lockAnyDir(tx, file.dir_id)) ? file.dir_id : 0;
      // A new revision, because the directory may have changed and the sweeper may have removed the manifest in the meantime.
      await insertFile(tx, { ...file, dir_id: dirId, rev: file.rev + 1 });
      await markStale(tx, file.file_id, file.rev + 1);
      if (transfer) await insertTransfer(tx, transfer);
    });
  }

  /**
   * Reserves the clone of a file in a directory, and its bytes within the quota. The clone counts as garbage until
   * `finishClone`.
   */
  beginClone(
    source: FileRow,
    target: CloneTarget & { accountId?: string; leaseUntil: number },
    quota?: number,
  ): Promise<'begun' | 'exists' | 'no directory' | 'over quota'> {
    return this.sql.transaction(async (tx) => {
      await requireLiveAccount(tx, target.accountId ?? ADMIN_ACCOUNT);
      if (!(await lockDir(tx, target.owner, target.dirId))) return 'no directory';
      // Waits for a clone of this file that is finishing, so that the next query sees it.
      await lockFile(tx, source.file_id);
      const clones =
        'SELECT file_id FROM files WHERE cloned_from = ? AND owner = ? AND dir_id = ? AND trashed_at = 0';
      if (await exists(tx, clones, source.file_id, target.owner, target.dirId)) return 'exists';
      const [counted, extra] = [countedOf(source), extraOf(source)];
      if (quota !== undefined) {
        await lockUsage(tx, target.owner);
        if (await isOverQuota(tx, target.owner, quota, { counted, extra })) return 'over quota';
      }
      const inserted = await tx.execute(
        `INSERT INTO garbage (file_id, not_before, clone_key, owner, clone_bytes, clone_extra_bytes) VALUES (?, ?, ?, ?, ?, ?)
         ON CONFLICT DO NOTHING RETURNING file_id`,
        ...[target.fileId, target.leaseUntil, `clone ${source.file_id} ${target.owner} ${target.dirId}`],
        ...[target.owner, counted, extra],
      );
      return inserted.length === 1 ? 'begun' : 'exists';
    });
  }

  /** Completes a clone. `copied` is the source as it was when its volumes and thumbnail were copied. */
  finishClone(
    copied: Pick<FileRow, 'file_id' | 'rev' | 'thumbnail'>,
    target: CloneTarget & { now: number },
  ): Promise<'done' | 'source vanished' | 'lease lost'> {
    return this.sql.transaction(async (tx) => {
      const dirId = (await lockDir(tx, target.owner, target.dirId)) ? target.dirId : 0;
      const sourceId = copied.file_id;
      const source = await lockFile(tx, sourceId);
      if (!source || source.trashed_at > 0) return 'source vanished';
      const lease = 'DELETE FROM garbage WHERE file_id = ? AND clone_key IS NOT NULL RETURNING file_id';
      if ((await tx.execute(lease, target.fileId)).length === 0) return 'lease lost';
      await copyVolumes(tx, sourceId, target.fileId);
      const { seq: _, ...row } = source;
      await insertFile(tx, {
        ...{ ...row, file_id: target.fileId, owner: target.owner, dir_id: dirId },
        ...{ created_at: target.now, cloned_from: sourceId, rev: 0, thumbnail: copied.thumbnail },
      });
      // The manifest was written before, for the intended directory and the source as it was copied.
      if (dirId !== target.dirId || source.rev !== copied.rev) await markStale(tx, target.fileId, 0);
      return 'done';
    });
  }
}

const digestOf = (encParams: string | undefined) =>
  encParams === undefined ? undefined : hash('sha256', toBase64(encParams), 'hex');

/** Locks the directories that files move to, in the order of their numbers; false if the caller lacks one. */
async function lockDirs(tx: Sql, caller: string, names: NewName[]): Promise<boolean> {
  const targets = new Set(names.flatMap(({ dirId }) => dirId ?? []));
  for (const dirId of [...targets].sort((a, b) => a - b)) {
    if (!(await lockDir(tx, caller, dirId))) return false;
  }
  return true;
}

/** Returns false if the file is not in `from`, or is in the trash. */
async function moveBetween(tx: Sql, fileId: string, from: number, to: number): Promise<boolean> {
  const [row] = await tx.execute<{ rev: number }>(
    `UPDATE files SET dir_id = ?, rev = rev + 1
     WHERE file_id = ? AND dir_id = ? AND trashed_at = 0 RETURNING rev`,
    ...[to, fileId, from],
  );
  if (!row) return false;
  await markStale(tx, fileId, row.rev);
  return true;
}

const lockFile = (tx: Sql, fileId: string) =>
  first<FileRow>(tx, `SELECT ${COLUMNS} FROM files WHERE file_id = ? ${tx.dialect.forUpdate}`, fileId);
