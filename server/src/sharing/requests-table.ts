import { type Ending, limits, type NewTransfer } from '@szafa/protocol';
import { requireLiveAccount } from '../accounts/account-rows.ts';
import { type Actor, limitAudit, recordAudit } from '../operator/audit-table.ts';
import {
  countUpToLimit,
  insertInto,
  Queries,
  Rollback,
  rollbackReason,
  type Sql,
  takeNamedLock,
} from '../platform/sql/sql.ts';
import { type Creation, createTransfer, type UploadLimits } from '../transfers/create-transfer.ts';
import type { NewTransferIds } from '../transfers/transfer-rows.ts';
import { NOT_DONE, type TransferRow } from '../transfers/transfer-rows.ts';
import { IS_OPEN, JOIN_OWNER } from './request-rows.ts';
import type { AddressLimit } from './visitors.ts';

export interface NewRequest {
  id: string;
  owner: string;
  accountId: string;
  header: string;
  accessHash: string;
  own: string;
  files: number;
  bytes: number;
  now: number;
  expiresAt: number | null;
}

export interface RequestRow {
  id: string;
  owner: string;
  files: number;
  bytes: number;
  created_at: number;
  expires_at: number | null;
  end_reason: Ending | null;
  /** Uploads, completed or open, and their bytes. */
  begun: number;
  begun_bytes: number;
  /** The open ones among them. */
  uploading: number;
  uploading_bytes: number;
}

/** A request as a visitor with the link sees it. */
export type ActiveRequest = Pick<RequestRow, 'files' | 'bytes' | 'expires_at' | 'begun' | 'begun_bytes'> & {
  header: string;
  account_id: string;
  owner: string;
};

export const REQUEST_COLUMNS = [
  ...['id', 'owner', 'account_id', 'header', 'access_hash', 'own'],
  ...['files', 'bytes', 'created_at', 'expires_at', 'ended_at', 'end_reason'],
] as const;
export const UPLOAD_COLUMNS = [
  ...['token_hash', 'request_id', 'transfer_id', 'bytes', 'created_at', 'address'],
] as const;

const sumUploads = (what: string, more = '') =>
  `(SELECT CAST(COALESCE(${what}, 0) AS BIGINT) FROM request_uploads v ${more} WHERE v.request_id = r.id)`;
const JOIN_OPEN = `JOIN transfers t ON t.transfer_id = v.transfer_id AND t.${NOT_DONE}`;
const BEGUN = `${sumUploads('COUNT(*)')} AS begun, ${sumUploads('SUM(v.bytes)')} AS begun_bytes`;
const LISTED = `r.id, r.owner, r.files, r.bytes, r.created_at, r.expires_at, r.end_reason, ${BEGUN},
  ${sumUploads('COUNT(*)', JOIN_OPEN)} AS uploading, ${sumUploads('SUM(v.bytes)', JOIN_OPEN)} AS uploading_bytes`;

/** What the limits of a request still allow. */
export interface RemainingLimits {
  files: number;
  bytes: number;
}

/** Deletes requests of an account that is being deleted, and returns their number. */
export async function deleteRequests(tx: Sql, owner: string, limit: number): Promise<number> {
  const text = 'SELECT id FROM file_requests WHERE owner = ? ORDER BY id LIMIT ?';
  const requests = await tx.query<{ id: string }>(text, owner, limit);
  for (const { id } of requests) {
    await tx.execute('DELETE FROM request_uploads WHERE request_id = ?', id);
    await tx.execute('DELETE FROM file_requests WHERE id = ?', id);
  }
  return requests.length;
}

/**
 * File requests: links by which visitors upload for an owner. Uploads are counted by their rows, under a lock of the
 * request, so that any number of visitors on any node stays within its limits. A row goes when its transfer is cancelled,
 * and stays when it is completed.
 */
export class RequestsTable extends Queries {
  create(request: NewRequest, mostEntries?: number): Promise<'created' | 'taken' | 'too many'> {
    const { id, owner, accountId, header, accessHash, own, files, bytes, now, expiresAt } = request;
    return this.sql.transaction(async (tx) => {
      await requireLiveAccount(tx, accountId);
      await takeNamedLock(tx, `requests ${accountId}`);
      const [same] = await tx.query<{ account_id: string; header: string; access_hash: string }>(
        'SELECT account_id, header, access_hash FROM file_requests WHERE id = ?',
        id,
      );
      if (same) {
        const isOwn = same.account_id === accountId && same.header === header;
        return isOwn && same.access_hash === accessHash ? 'created' : 'taken';
      }
      const [count] = await tx.query<{ count: number }>(
        "SELECT COUNT(*) AS count FROM file_requests WHERE owner = ? AND own <> ''",
        owner,
      );
      if (count!.count >= limits.requestsOfAccount) return 'too many';
      await limitAudit(tx, owner, now, mostEntries);
      await tx.execute(
        insertInto('file_requests', REQUEST_COLUMNS),
        ...[id, owner, accountId, header, accessHash, own, files, bytes, now, expiresAt, null, null],
      );
      await recordAudit(tx, {
        at: now,
        actor: 'account',
        account: owner,
        action: 'request made',
        detail: id,
      });
      return 'created';
    });
  }

  /** Lists the requests of an account, without those that the owner ended. */
  list(owner: string): Promise<(RequestRow & { own: string })[]> {
    return this.sql.query(
      `SELECT ${LISTED}, r.own FROM file_requests r WHERE r.owner = ? AND r.own <> ''`,
      owner,
    );
  }

  /** Lists open requests of all accounts or of one, by id. */
  listOpen(after: string, limit: number, owner?: string): Promise<RequestRow[]> {
    const ofOwner = owner === undefined ? '' : 'AND r.owner = ?';
    return this.sql.query<RequestRow>(
      `SELECT ${LISTED} FROM file_requests r WHERE r.id > ? AND r.ended_at IS NULL ${ofOwner} ORDER BY r.id LIMIT ?`,
      ...[after, ...(owner === undefined ? [] : [owner]), limit],
    );
  }

  count(): Promise<number> {
    return countUpToLimit(this.sql, 'file_requests WHERE ended_at IS NULL');
  }

  /** With `owner`, ends only a request of that owner, and removes it from the list. False if there is none. */
  end(id: string, now: number, actor: Actor, owner?: string): Promise<boolean> {
    return this.sql.transaction(async (tx) => {
      const [request] = await tx.query<{ owner: string; ended_at: number | null; own: string }>(
        `SELECT owner, ended_at, own FROM file_requests WHERE id = ? ${tx.dialect.forUpdate}`,
        id,
      );
      if (!request || request.own === '' || (owner !== undefined && request.owner !== owner)) return false;
      if (owner !== undefined) await tx.execute("UPDATE file_requests SET own = '' WHERE id = ?", id);
      if (request.ended_at !== null) return owner !== undefined;
      await tx.execute("UPDATE file_requests SET ended_at = ?, end_reason = 'ended' WHERE id = ?", now, id);
      await recordAudit(tx, { at: now, actor, account: request.owner, action: 'request ended', detail: id });
      return true;
    });
  }

  /** Undefined if there is no such request, or the caller does not know the link. */
  async find(
    id: string,
    accessHash: string,
    now: number,
  ): Promise<ActiveRequest | { ending: Ending } | undefined> {
    const [row] = await this.sql.query<ActiveRequest & { access_hash: string; end_reason: Ending | null }>(
      `SELECT r.owner, r.account_id, r.header, r.access_hash, r.files, r.bytes, r.expires_at, r.end_reason, ${BEGUN}
       FROM file_requests r ${JOIN_OWNER} WHERE r.id = ?`,
      id,
    );
    if (!row || row.access_hash !== accessHash) return undefined;
    const { access_hash: _, end_reason: ending, ...request } = row;
    if (ending !== null) return { ending };
    return request.expires_at !== null && request.expires_at <= now ? { ending: 'expired' } : request;
  }

  /** The transfer that was started with this token, if any. */
  async findTransfer(id: string, tokenHash: string): Promise<string | undefined> {
    const [row] = await this.sql.query<{ transfer_id: string }>(
      'SELECT transfer_id FROM request_uploads WHERE token_hash = ? AND request_id = ?',
      tokenHash,
      id,
    );
    return row?.transfer_id;
  }

  /** Whether a visitor started this transfer. */
  async isUpload(transferId: string): Promise<boolean> {
    const text = 'SELECT 1 FROM request_uploads WHERE transfer_id = ?';
    return (await this.sql.query(text, transferId)).length > 0;
  }

  /**
   * Counts an upload and creates its transfer, if the limits allow it. `taken`: the token has a transfer already. `ended`:
   * the request has ended. `busy`: too many uploads are open.
   */
  begin(
    id: string,
    tokenHash: string,
    init: NewTransfer,
    ids: NewTransferIds & { accountId: string },
    bounds: UploadLimits,
    { most = limits.uploadsOfRequest, from }: { most?: number; from?: AddressLimit | undefined } = {},
  ): Promise<Creation | 'ended' | 'busy' | RemainingLimits> {
    return this.sql
      .transaction<Creation | 'ended' | 'busy' | RemainingLimits>(async (tx) => {
        await requireLiveAccount(tx, ids.accountId);
        const [request] = await tx.query<Pick<RequestRow, 'files' | 'bytes'>>(
          `SELECT r.files, r.bytes FROM file_requests r WHERE r.id = ? AND ${IS_OPEN} ${tx.dialect.forUpdate}`,
          id,
          ids.now,
        );
        if (!request) return 'ended';
        const [same] = await tx.query('SELECT 1 FROM request_uploads WHERE token_hash = ?', tokenHash);
        if (same) return 'taken';
        // After the lock, in a statement of its own, so that it counts what others have started in the meantime.
        const [sums] = await tx.query<
          Pick<RequestRow, 'begun' | 'begun_bytes' | 'uploading'> & { own: number }
        >(
          `SELECT ${BEGUN}, ${sumUploads('COUNT(*)', JOIN_OPEN)} AS uploading,
             ${sumUploads('COUNT(CASE WHEN v.address = ? THEN 1 END)', JOIN_OPEN)} AS own
           FROM file_requests r WHERE r.id = ?`,
          from?.address ?? null,
          id,
        );
        const left = { files: request.files - sums!.begun, bytes: request.bytes - sums!.begun_bytes };
        if (left.files < 1 || left.bytes < init.storedSize) return left;
        if (sums!.uploading >= most || (from && sums!.own >= from.most)) return 'busy';
        const created = await createTransfer(tx, init, ids, bounds);
        if (created !== 'created') return created;
        const [row] = await tx.execute(
          `${insertInto('request_uploads', UPLOAD_COLUMNS)} ON CONFLICT DO NOTHING RETURNING request_id`,
          ...[tokenHash, id, ids.transferId, init.storedSize, ids.now, from?.address ?? null],
        );
        if (!row) throw new Rollback('taken');
        return created;
      })
      .catch(rollbackReason<Creation>);
  }

  /** Lists open uploads of requests that ended since then; no visitor can continue them. */
  abandonedUploads(since: number, limit: number): Promise<Pick<TransferRow, 'transfer_id' | 'file_id'>[]> {
    return this.sql.query(
      `SELECT t.transfer_id, t.file_id FROM file_requests r JOIN request_uploads v ON v.request_id = r.id
         JOIN transfers t ON t.transfer_id = v.transfer_id
       WHERE r.ended_at > ? AND t.status IN ('uploading', 'failed') LIMIT ?`,
      since,
      limit,
    );
  }

  /** Lists uploads without volumes that have not been touched since then. */
  emptyUploads(time: number, limit: number): Promise<Pick<TransferRow, 'transfer_id' | 'file_id'>[]> {
    return this.sql.query(
      `SELECT t.transfer_id, t.file_id FROM transfers t JOIN request_uploads v ON v.transfer_id = t.transfer_id
       WHERE t.touched_at < ? AND t.status = 'uploading'
         AND NOT EXISTS (SELECT 1 FROM streamed_volumes s WHERE s.file_id = t.file_id)
       ORDER BY t.touched_at LIMIT ?`,
      time,
      limit,
    );
  }

  /** Ends expired requests. Deletes rows that ended before `endedBefore`. */
  async expire(now: number, endedBefore: number): Promise<void> {
    await this.sql.execute(
      `UPDATE file_requests SET ended_at = ?, end_reason = 'expired' WHERE ended_at IS NULL AND expires_at <= ?`,
      now,
      now,
    );
    const ended = 'SELECT id FROM file_requests WHERE ended_at < ?';
    await this.sql.transaction(async (tx) => {
      await tx.execute(`DELETE FROM request_uploads WHERE request_id IN (${ended})`, endedBefore);
      await tx.execute('DELETE FROM file_requests WHERE ended_at < ?', endedBefore);
    });
  }
}
