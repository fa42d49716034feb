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
import { countSome, Queries, Refused, refusal, type Sql } from '../platform/sql/sql.ts';
import { deleteUpload, findUploadSession } from '../sharing/request-rows.ts';
import { outdate, outdateFile } from '../upkeep/documents-table.ts';
import { forgetArrivals } from './arrivals-table.ts';
import {
  type Bounds,
  beginDone,
  type Creation,
  createTransfer,
  fileOf,
  finishDone,
  type Whole,
} from './create-transfer.ts';
import { forgetPull } from './pull/pulls-table.ts';
import {
  COLUMNS,
  lockTransfer,
  type NewIds,
  NOT_DONE,
  type TransferRow,
  type TransferStatus,
} from './transfer-rows.ts';
import { forgetVolumes } from './volumes-table.ts';

export { type Bounds, type Creation, fileOf } from './create-transfer.ts';
export { type NewIds, type TransferRow, transferOf } from './transfer-rows.ts';

/** What says how far a transfer is. */
export type TransferState = Pick<
  TransferRow,
  'file_id' | 'status' | 'chunk_count' | 'touched_at' | 'streamed' | 'creator' | 'creator_session' | 'dir_id'
>;

/** With `t` for the transfer. */
const STATE =
  't.file_id, t.status, t.chunk_count, t.touched_at, t.streamed, t.creator, t.creator_session, t.dir_id';

const stateOf = (row: TransferState): TransferState => ({
  file_id: row.file_id,
  status: row.status,
  chunk_count: row.chunk_count,
  touched_at: row.touched_at,
  streamed: row.streamed,
  creator: row.creator,
  creator_session: row.creator_session,
  dir_id: row.dir_id,
});

export class TransfersTable extends Queries {
  create(init: NewTransfer, ids: NewIds, bounds: Bounds = {}): Promise<Creation> {
    return this.sql
      .transaction<Creation>((tx) => createTransfer(tx, init, ids, bounds))
      .catch(refusal<Creation>);
  }

  /** Transfers that are done, with their files, all of one creator: those that can be, in this order, in one transaction. */
  createDone(files: Whole[], quota?: number): Promise<Creation[]> {
    const { creator } = files[0]!.ids;
    const dirIds = [...new Set(files.map(({ init }) => init.dirId))].sort((a, b) => a - b);
    const byId = files.toSorted((a, b) => compare(a.ids.transferId, b.ids.transferId));
    return this.sql.transaction(async (tx) => {
      // Directories, then ids, then sums, which a quota needs first: of two who hold what the other wants, neither could go on.
      const found = new Set<number>();
      for (const dirId of dirIds) if (await lockDir(tx, creator, dirId)) found.add(dirId);
      if (quota !== undefined) await lockUsage(tx, creator);
      const begun = new Set<Whole>();
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
    const [row] = await this.sql.query<TransferRow>(
      `SELECT ${COLUMNS} FROM transfers WHERE transfer_id = ?`,
      transferId,
    );
    return row;
  }

  async state(transferId: string): Promise<TransferState | undefined> {
    const [row] = await this.sql.query<TransferState>(
      `SELECT ${STATE} FROM transfers t WHERE transfer_id = ?`,
      transferId,
    );
    return row;
  }

  /** The session that uploaded a file; undefined where nobody knows, as of a copy. */
  async makerOf(fileId: string): Promise<string | undefined> {
    const [row] = await this.sql.query<{ creator_session: string | null }>(
      'SELECT creator_session FROM transfers WHERE file_id = ?',
      fileId,
    );
    return row?.creator_session ?? undefined;
  }

  /** Never of those that are done: one is known for as long as its file, and to count them would take ever longer. */
  openCount(status: Exclude<TransferStatus, 'done'>): Promise<number> {
    return countSome(this.sql, `transfers WHERE status = ? AND ${NOT_DONE}`, status);
  }

  /** For `Sessions.identify`: the transfer, whoever made it. */
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

  /** False when there is no such transfer any more. */
  async touch(transferId: string, now: number): Promise<boolean> {
    const rows = await this.sql.execute(
      'UPDATE transfers SET touched_at = ? WHERE transfer_id = ? RETURNING transfer_id',
      now,
      transferId,
    );
    return rows.length === 1;
  }

  /** `uploading` or `failed` -> `storing` for that owner; one caller wins, the others see its row. */
  async beginStoring(
    transferId: string,
    owner: string,
    accountId = ADMIN_ACCOUNT,
  ): Promise<TransferRow | undefined> {
    const stored = await store(this.sql, transferId, owner, accountId);
    if (stored) return stored;
    const row = await this.get(transferId);
    // Nobody else has begun it.
    if (row && isOpen(row.status)) await this.sql.transaction((tx) => requireLiveAccount(tx, accountId));
    return row;
  }

  /** The same under a quota: a transfer that counted for another account until now must fit into the owner's. */
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
        const stored = await store(tx, transferId, owner, ADMIN_ACCOUNT);
        const isNew = stored && (before.owner ?? before.creator) !== owner;
        if (isNew && (await isOverQuota(tx, owner, quota))) throw new Refused('over quota');
        return stored;
      })
      .catch(refusal<'over quota'>);
    return row ?? this.get(transferId);
  }

  /**
   * The file's record and `done`, together. Repeating it changes nothing. Also out of `failed`, where another
   * complete of the same transfer met a fault meanwhile. False when there is no such transfer in storing.
   * `filed` is the transfer as it was when its manifest was written.
   */
  finishStoring(filed: TransferRow, now: number): Promise<boolean> {
    return this.sql.transaction(async (tx) => {
      const [row] = await tx.execute<TransferRow>(
        `UPDATE transfers SET status = 'done', enc_params = ''
         WHERE transfer_id = ? AND status IN ('storing', 'failed') RETURNING ${COLUMNS}`,
        filed.transfer_id,
      );
      if (!row) {
        // Our manifest may have come after that of whoever finished it, or after the end of the file.
        await outdateFile(tx, filed.file_id);
        const done = "SELECT 1 FROM transfers WHERE transfer_id = ? AND status = 'done'";
        return (await tx.query(done, filed.transfer_id)).length === 1;
      }
      await insertFile(tx, fileOf({ ...row, enc_params: filed.enc_params }, now));
      await forgetArrivals(tx, row.file_id);
      if (filed.dir_id !== row.dir_id || filed.owner !== row.owner) await outdate(tx, row.file_id, 0);
      return true;
    });
  }

  async failStoring(transferId: string): Promise<void> {
    await this.sql.execute(
      "UPDATE transfers SET status = 'failed' WHERE transfer_id = ? AND status = 'storing'",
      transferId,
    );
  }

  storing(): Promise<TransferRow[]> {
    return this.sql.query<TransferRow>(
      `SELECT ${COLUMNS} FROM transfers WHERE status = 'storing' AND ${NOT_DONE}`,
    );
  }

  /** Whether volumes of this group may still come in. */
  async isOpen(fileId: string): Promise<boolean> {
    const rows = await this.sql.query(
      "SELECT transfer_id FROM transfers WHERE file_id = ? AND status IN ('uploading', 'failed')",
      fileId,
    );
    return rows.length > 0;
  }

  /**
   * Forgets a transfer that is no file yet; its volumes become garbage. One that is done goes with its file. `untouchedSince`:
   * only if nobody has asked for it since then.
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
        await forgetArrivals(tx, row.file_id);
        return true;
      }
      await tx.execute('INSERT INTO garbage (file_id, not_before) VALUES (?, ?)', row.file_id, now);
      return true;
    });
  }

  /** Uploads that nobody has asked for since then. */
  untouchedSince(time: number, limit: number): Promise<Pick<TransferRow, 'transfer_id' | 'file_id'>[]> {
    return this.sql.query(
      `SELECT transfer_id, file_id FROM transfers WHERE touched_at < ? AND status IN ('uploading', 'failed')
       ORDER BY touched_at LIMIT ?`,
      time,
      limit,
    );
  }
}

const compare = (a: string, b: string) => (a < b ? -1 : Number(a > b));

const isOpen = (status: TransferStatus) => status === 'uploading' || status === 'failed';

async function store(
  sql: Sql,
  transferId: string,
  owner: string,
  accountId: string,
): Promise<TransferRow | undefined> {
  const asked = isAdmin(accountId) ? [] : [accountId];
  const [row] = await sql.execute<TransferRow>(
    `UPDATE transfers SET status = 'storing', owner = ?
     WHERE transfer_id = ? AND status IN ('uploading', 'failed')
     ${asked.length > 0 ? `AND EXISTS (${liveAccount(sql.dialect)})` : ''} RETURNING ${COLUMNS}`,
    ...[owner, transferId, ...asked],
  );
  return row;
}
