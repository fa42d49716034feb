import type { NewTransfer } from '@szafa/protocol';
import {
  ADMIN_ACCOUNT,
  isAdmin,
  type Lookup,
  liveAccount,
  requireLiveAccount,
  SESSION,
  SESSIONS,
  type SessionRow,
  sessionOf,
} from '../accounts/account-rows.ts';
import { lockDir } from '../files/directories-table.ts';
import { insertFile } from '../files/file-changes-table.ts';
import { isOverQuota, lockUsage } from '../files/quota.ts';
import { countUpToLimit, Queries, Rollback, rollbackReason, type Sql } from '../platform/sql/sql.ts';
import { deleteUpload, findUploadSession } from '../sharing/request-rows.ts';
import { markFileStale, markStale } from '../upkeep/documents-table.ts';
import {
  beginDone,
  type Creation,
  createTransfer,
  finishDone,
  type ReceivedFile,
  toFile,
  type UploadLimits,
} from './create-transfer.ts';
import { forgetPull } from './pull/pulls-table.ts';
import { forgetReceived } from './received-volumes-table.ts';
import {
  COLUMNS,
  lockTransfer,
  type NewTransferIds,
  NOT_DONE,
  type TransferRow,
  type TransferStatus,
} from './transfer-rows.ts';
import { forgetVolumes } from './volumes-table.ts';

/** The columns that most requests need. */
const STATE_COLUMNS = [
  ...['file_id', 'status', 'chunk_count', 'touched_at', 'streamed', 'creator', 'creator_session', 'dir_id'],
] as const;
export type TransferState = Pick<TransferRow, (typeof STATE_COLUMNS)[number]>;
/** The columns of `TransferState`, where `t` is the transfer. */
const STATE = STATE_COLUMNS.map((name) => `t.${name}`).join(', ');
const stateOf = (row: TransferState) =>
  Object.fromEntries(STATE_COLUMNS.map((name) => [name, row[name]])) as TransferState;

export class TransfersTable extends Queries {
  create(init: NewTransfer, ids: NewTransferIds, limits: UploadLimits = {}): Promise<Creation> {
    return this.sql
      .transaction<Creation>((tx) => createTransfer(tx, init, ids, limits))
      .catch(rollbackReason<Creation>);
  }

  /** Creates finished transfers of one creator and their files in one transaction. Each has its own result. */
  createDone(files: ReceivedFile[], quota?: number): Promise<Creation[]> {
    const { creator } = files[0]!.ids;
    const dirIds = [...new Set(files.map(({ init }) => init.dirId))].sort((a, b) => a - b);
    const byId = files.toSorted((a, b) => compare(a.ids.transferId, b.ids.transferId));
    return this.sql.transaction(async (tx) => {
      // Every transaction locks in this order, to avoid deadlocks: directories, sums if there is a quota, ids.
      const found = new Set<number>();
      for (const dirId of dirIds) if (await lockDir(tx, creator, dirId)) found.add(dirId);
      if (quota !== undefined) await lockUsage(tx, creator);
      const begun = new Set<ReceivedFile>();
      for (const file of byId) if (found.has(file.init.dirId) && (await beginDone(tx, file))) begun.add(file);
      const results: Creation[] = [];
      for (const file of files) {
        if (begun.has(file)) results.push(await finishDone(tx, file, quota));
        else results.push(found.has(file.init.dirId) ? 'taken' : 'no directory');
      }
      return results;
    });
  }

  async get(transferId: string): Promise<TransferRow | undefined> {
    const text = `SELECT ${COLUMNS} FROM transfers WHERE transfer_id = ?`;
    const [row] = await this.sql.query<TransferRow>(text, transferId);
    return row;
  }

  async state(transferId: string): Promise<TransferState | undefined> {
    const text = `SELECT ${STATE} FROM transfers t WHERE transfer_id = ?`;
    const [row] = await this.sql.query<TransferState>(text, transferId);
    return row;
  }

  /** Returns the session that uploaded a file; undefined if it is unknown, as for a clone. */
  async creatorSession(fileId: string): Promise<string | undefined> {
    const text = 'SELECT creator_session FROM transfers WHERE file_id = ?';
    const [row] = await this.sql.query<{ creator_session: string | null }>(text, fileId);
    return row?.creator_session ?? undefined;
  }

  /** Not available for done transfers: they are kept as long as their files, so counting them would take ever longer. */
  openCount(status: Exclude<TransferStatus, 'done'>): Promise<number> {
    return countUpToLimit(this.sql, `transfers WHERE status = ? AND ${NOT_DONE}`, status);
  }

  /** For `Sessions.identify`: a transfer of any creator. */
  lookUp(transferId: string): Lookup<{ transfer: TransferState | undefined }> {
    return {
      admin: async () => ({ transfer: await this.state(transferId) }),
      session: async (tokenHash) => {
        const [row] = await this.sql.query<SessionRow & (TransferState | { file_id: null })>(
          `SELECT ${SESSION}, ${STATE}
           FROM ${SESSIONS} LEFT JOIN transfers t ON t.transfer_id = ? WHERE s.token_hash = ?`,
          transferId,
          tokenHash,
        );
        if (!row) return undefined;
        return { ...sessionOf(row), transfer: row.file_id === null ? undefined : stateOf(row) };
      },
      visitor: async (tokenHash, now) => {
        const row = await findUploadSession<TransferState>(this.sql, tokenHash, transferId, STATE, now);
        return row && { ...sessionOf(row), transfer: stateOf(row) };
      },
    };
  }

  /** Returns false if the transfer does not exist. */
  async touch(transferId: string, now: number): Promise<boolean> {
    const text = 'UPDATE transfers SET touched_at = ? WHERE transfer_id = ? RETURNING transfer_id';
    const rows = await this.sql.execute(text, now, transferId);
    return rows.length === 1;
  }

  /**
   * Moves a transfer from `uploading` or `failed` to `storing` for this owner. Only one caller does so; others get the
   * current row.
   */
  async beginStoring(
    transferId: string,
    owner: string,
    accountId = ADMIN_ACCOUNT,
  ): Promise<TransferRow | undefined> {
    const storing = await setStoring(this.sql, transferId, owner, accountId);
    if (storing) return storing;
    const row = await this.get(transferId);
    // The transfer is still open, so the account must be gone.
    if (row?.status === 'uploading' || row?.status === 'failed')
      await this.sql.transaction((tx) => requireLiveAccount(tx, accountId));
    return row;
  }

  /** Like `beginStoring`, with a quota. The quota is checked only if the transfer counted for another account before. */
  async beginStoringWithin(
    quota: number,
    transferId: string,
    owner: string,
    accountId = ADMIN_ACCOUNT,
  ): Promise<TransferRow | 'over quota' | undefined> {
    const row = await this.sql
      .transaction(async (tx) => {
        await requireLiveAccount(tx, accountId);
        const before = await lockTransfer(tx, transferId);
        if (!before) return undefined;
        await lockUsage(tx, owner);
        const storing = await setStoring(tx, transferId, owner, ADMIN_ACCOUNT);
        const isNew = storing && (before.owner ?? before.creator) !== owner;
        if (isNew && (await isOverQuota(tx, owner, quota))) throw new Rollback('over quota');
        return storing;
      })
      .catch(rollbackReason<'over quota'>);
    return row ?? this.get(transferId);
  }

  /**
   * Creates the file and sets `done`. May be repeated. Also accepts `failed`, which another complete of the same transfer may
   * have set. Returns false if there is no such transfer. `stored`: the transfer as it was when its manifest was written.
   */
  finishStoring(stored: TransferRow, now: number): Promise<boolean> {
    return this.sql.transaction(async (tx) => {
      const text = `UPDATE transfers SET status = 'done', enc_params = ''
        WHERE transfer_id = ? AND status IN ('storing', 'failed') RETURNING ${COLUMNS}`;
      const [row] = await tx.execute<TransferRow>(text, stored.transfer_id);
      if (!row) {
        // This manifest may have replaced that of the request that finished first, or been written after the file was deleted.
        await markFileStale(tx, stored.file_id);
        const done = "SELECT 1 FROM transfers WHERE transfer_id = ? AND status = 'done'";
        return (await tx.query(done, stored.transfer_id)).length === 1;
      }
      await insertFile(tx, toFile({ ...row, enc_params: stored.enc_params }, now));
      await forgetReceived(tx, row.file_id);
      if (stored.dir_id !== row.dir_id || stored.owner !== row.owner) await markStale(tx, row.file_id, 0);
      return true;
    });
  }

  async failStoring(transferId: string): Promise<void> {
    const text = "UPDATE transfers SET status = 'failed' WHERE transfer_id = ? AND status = 'storing'";
    await this.sql.execute(text, transferId);
  }

  storing(): Promise<TransferRow[]> {
    const text = `SELECT ${COLUMNS} FROM transfers WHERE status = 'storing' AND ${NOT_DONE}`;
    return this.sql.query<TransferRow>(text);
  }

  /** Whether the transfer of this group still receives volumes. */
  async isOpen(fileId: string): Promise<boolean> {
    const text = "SELECT transfer_id FROM transfers WHERE file_id = ? AND status IN ('uploading', 'failed')";
    const rows = await this.sql.query(text, fileId);
    return rows.length > 0;
  }

  /**
   * Removes a transfer that is not done; its volumes become garbage. `untouchedSince`: only if it has not been used since
   * that time.
   */
  remove(
    transferId: string,
    allowed: Exclude<TransferStatus, 'done'>[],
    now: number,
    {
      keepVolumes = false,
      untouchedSince = Number.POSITIVE_INFINITY,
      also,
    }: { keepVolumes?: boolean; untouchedSince?: number; also?: (tx: Sql) => Promise<void> } = {},
  ): Promise<boolean> {
    return this.sql.transaction(async (tx) => {
      const row = await lockTransfer(tx, transferId);
      if (!row || !(allowed as TransferStatus[]).includes(row.status)) return false;
      if (row.touched_at >= untouchedSince) return false;
      await tx.execute('DELETE FROM transfers WHERE transfer_id = ?', transferId);
      await forgetPull(tx, transferId);
      await deleteUpload(tx, transferId);
      await also?.(tx);
      if (keepVolumes) {
        await forgetVolumes(tx, row.file_id);
        await forgetReceived(tx, row.file_id);
        return true;
      }
      await tx.execute('INSERT INTO garbage (file_id, not_before) VALUES (?, ?)', row.file_id, now);
      return true;
    });
  }

  /** Lists uploads that have not been used since `time`. */
  untouchedSince(time: number, limit: number): Promise<Pick<TransferRow, 'transfer_id' | 'file_id'>[]> {
    const text = `SELECT transfer_id, file_id FROM transfers WHERE touched_at < ? AND status IN ('uploading', 'failed')
      ORDER BY touched_at LIMIT ?`;
    return this.sql.query(text, time, limit);
  }

  async getByFile(fileId: string): Promise<TransferRow | undefined> {
    const text = `SELECT ${COLUMNS} FROM transfers WHERE file_id = ?`;
    return (await this.sql.query<TransferRow>(text, fileId))[0];
  }

  /**
   * Lists open uploads of all accounts or of one for operators, the least recently used first. The page begins after the
   * given upload. An upload that is used while pages are read may appear twice; none is omitted.
   */
  listOpen(
    { touchedAt, fileId }: { touchedAt: number; fileId: string },
    limit: number,
    creator?: string,
  ): Promise<TransferRow[]> {
    return this.sql.query<TransferRow>(
      `SELECT ${COLUMNS} FROM transfers
       WHERE status IN ('uploading', 'failed') AND touched_at >= ? AND (touched_at > ? OR file_id > ?)
         ${creator === undefined ? '' : `AND creator = ? AND ${NOT_DONE}`} ORDER BY touched_at, file_id LIMIT ?`,
      ...[touchedAt, touchedAt, fileId, ...(creator === undefined ? [] : [creator]), limit],
    );
  }
}

const compare = (a: string, b: string) => (a < b ? -1 : Number(a > b));

async function setStoring(
  sql: Sql,
  transferId: string,
  owner: string,
  accountId: string,
): Promise<TransferRow | undefined> {
  const params = isAdmin(accountId) ? [] : [accountId];
  const text = `UPDATE transfers SET status = 'storing', owner = ?
    WHERE transfer_id = ? AND status IN ('uploading', 'failed')
    ${params.length > 0 ? `AND EXISTS (${liveAccount(sql.dialect)})` : ''} RETURNING ${COLUMNS}`;
  const [row] = await sql.execute<TransferRow>(text, owner, transferId, ...params);
  return row;
}
