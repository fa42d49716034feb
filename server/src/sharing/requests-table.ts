import { limits, type NewTransfer, type RequestBody } from '@szafa/protocol';
import { requireLiveAccount } from '../accounts/account-rows.ts';
import { limitAudit, recordAudit } from '../operator/audit-table.ts';
import { ApiError } from '../platform/http/api-error.ts';
import {
  countUpToLimit,
  exists,
  first,
  insertInto,
  Rollback,
  rollbackReason,
  type Sql,
  takeNamedLock,
} from '../platform/sql/sql.ts';
import { type Creation, createTransfer, type UploadLimits } from '../transfers/create-transfer.ts';
import { type NewTransferIds, NOT_DONE, type TransferRow } from '../transfers/transfer-rows.ts';
import type { AddressLimit } from './links.ts';
import { endingAt, IS_OPEN, JOIN_OWNER, type LinkState, LinksTable } from './links-table.ts';

export interface NewRequest extends Omit<RequestBody, 'expires_at'> {
  owner: string;
  accountId: string;
  now: number;
  expiresAt: number | null;
}

export interface RequestRow extends LinkState {
  id: string;
  owner: string;
  files: number;
  bytes: number;
  created_at: number;
  /** Number and bytes of all uploads, completed or open. */
  begun: number;
  begun_bytes: number;
  /** Number and bytes of open uploads. */
  uploading: number;
  uploading_bytes: number;
}

/** A request as a visitor with the link sees it. */
type ActiveRequest = Pick<
  RequestRow,
  'owner' | 'files' | 'bytes' | 'expires_at' | 'begun' | 'begun_bytes'
> & { header: string; account_id: string };

export const REQUEST_COLUMNS = [
  ...['id', 'owner', 'account_id', 'header', 'access_hash', 'own'],
  ...['files', 'bytes', 'created_at', 'expires_at', 'ended_at', 'end_reason'],
] as const;
export const UPLOAD_COLUMNS = [
  ...['token_hash', 'request_id', 'transfer_id', 'bytes', 'created_at', 'address'],
] as const;

const sumUploads = (what: string, more = '') =>
  `(SELECT CAST(COALESCE(${what}, 0) AS BIGINT) FROM request_uploads v ${more} WHERE v.request_id = l.id)`;
const JOIN_OPEN = `JOIN transfers t ON t.transfer_id = v.transfer_id AND t.${NOT_DONE}`;
const BEGUN = `${sumUploads('COUNT(*)')} AS begun, ${sumUploads('SUM(v.bytes)')} AS begun_bytes`;

/** The files and bytes that a request still accepts. */
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
 * File requests: links by which visitors upload for an owner. Uploads are counted by their rows while the request is locked,
 * so that any number of visitors on any node stays within its limits. The row of an upload is deleted when its transfer is
 * cancelled, and kept when it is completed.
 */
export class RequestsTable extends LinksTable<RequestRow> {
  protected readonly table = 'file_requests';
  protected readonly noun = 'request';
  protected readonly columns =
    `l.id, l.owner, l.files, l.bytes, l.created_at, l.expires_at, l.end_reason, ${BEGUN},
    ${sumUploads('COUNT(*)', JOIN_OPEN)} AS uploading, ${sumUploads('SUM(v.bytes)', JOIN_OPEN)} AS uploading_bytes`;

  /** Creates a request. Creating the same request again changes nothing. */
  create(request: NewRequest, mostEntries?: number): Promise<void> {
    const { id, owner, accountId, header, access, own, max_files, max_bytes, now, expiresAt } = request;
    return this.sql.transaction(async (tx) => {
      await requireLiveAccount(tx, accountId);
      await takeNamedLock(tx, `requests ${accountId}`);
      const text = 'SELECT account_id, header, access_hash FROM file_requests WHERE id = ?';
      const same = await first<{ account_id: string; header: string; access_hash: string }>(tx, text, id);
      if (same) {
        if (same.account_id === accountId && same.header === header && same.access_hash === access) return;
        throw new ApiError(409, 'a request with this id exists already');
      }
      const count = await countUpToLimit(tx, "file_requests WHERE owner = ? AND own <> ''", owner);
      if (count >= limits.requestsOfAccount)
        throw new ApiError(409, 'too many file requests; end some of them');
      await limitAudit(tx, owner, now, mostEntries);
      await tx.execute(
        insertInto('file_requests', REQUEST_COLUMNS),
        ...[id, owner, accountId, header, access, own, max_files, max_bytes, now, expiresAt, null, null],
      );
      await recordAudit(tx, { at: now, account: owner, action: 'request made', detail: id });
    });
  }

  /** Lists the requests of an account, except those that the owner has ended. */
  list(owner: string): Promise<(RequestRow & { own: string })[]> {
    return this.sql.query(
      `SELECT ${this.columns}, l.own FROM file_requests l WHERE l.owner = ? AND l.own <> ''`,
      owner,
    );
  }

  protected async endRow(tx: Sql, id: string, now: number): Promise<void> {
    await tx.execute("UPDATE file_requests SET ended_at = ?, end_reason = 'ended' WHERE id = ?", now, id);
  }

  /** Returns undefined if there is no such request, or the caller does not know the link. */
  async find(id: string, accessHash: string, now: number) {
    const row = await first<ActiveRequest & LinkState & { access_hash: string }>(
      this.sql,
      `SELECT l.owner, l.account_id, l.header, l.access_hash, l.files, l.bytes, l.expires_at, l.end_reason, ${BEGUN}
       FROM file_requests l ${JOIN_OWNER} WHERE l.id = ?`,
      id,
    );
    if (row?.access_hash !== accessHash) return undefined;
    const ending = endingAt(row, now);
    return ending === null ? row : { ending };
  }

  /** Returns the transfer that was started with this token, if any. */
  async findTransfer(id: string, tokenHash: string): Promise<string | undefined> {
    const text = 'SELECT transfer_id FROM request_uploads WHERE token_hash = ? AND request_id = ?';
    return (await first<{ transfer_id: string }>(this.sql, text, tokenHash, id))?.transfer_id;
  }

  /** Whether a visitor started this transfer. */
  isUpload(transferId: string): Promise<boolean> {
    return exists(this.sql, 'SELECT 1 FROM request_uploads WHERE transfer_id = ?', transferId);
  }

  /**
   * Counts an upload and creates its transfer, if the limits allow it. `taken`: the token already has a transfer. `ended`:
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
    const begun = this.sql.transaction<Creation | 'ended' | 'busy' | RemainingLimits>(async (tx) => {
      await requireLiveAccount(tx, ids.accountId);
      const request = await first<RemainingLimits>(
        tx,
        `SELECT l.files, l.bytes FROM file_requests l WHERE l.id = ? AND ${IS_OPEN} ${tx.dialect.forUpdate}`,
        ...[id, ids.now],
      );
      if (!request) return 'ended';
      if (await exists(tx, 'SELECT 1 FROM request_uploads WHERE token_hash = ?', tokenHash)) return 'taken';
      // A separate statement after the lock, so that it counts uploads that others have started in the meantime.
      type Sums = Pick<RequestRow, 'begun' | 'begun_bytes' | 'uploading'> & { own: number };
      const [sums] = await tx.query<Sums>(
        `SELECT ${BEGUN}, ${sumUploads('COUNT(*)', JOIN_OPEN)} AS uploading,
           ${sumUploads('COUNT(CASE WHEN v.address = ? THEN 1 END)', JOIN_OPEN)} AS own
         FROM file_requests l WHERE l.id = ?`,
        ...[from?.address ?? null, id],
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
    });
    return begun.catch(rollbackReason<Creation>);
  }

  /** Lists open uploads of requests that ended after `since`; no visitor can continue them. */
  abandonedUploads(since: number, limit: number): Promise<Pick<TransferRow, 'transfer_id' | 'file_id'>[]> {
    return this.sql.query(
      `SELECT t.transfer_id, t.file_id FROM file_requests r JOIN request_uploads v ON v.request_id = r.id
         JOIN transfers t ON t.transfer_id = v.transfer_id
       WHERE r.ended_at > ? AND t.status IN ('uploading', 'failed') LIMIT ?`,
      ...[since, limit],
    );
  }

  /** Lists uploads without volumes that have not been touched since `time`. */
  emptyUploads(time: number, limit: number): Promise<Pick<TransferRow, 'transfer_id' | 'file_id'>[]> {
    return this.sql.query(
      `SELECT t.transfer_id, t.file_id FROM transfers t JOIN request_uploads v ON v.transfer_id = t.transfer_id
       WHERE t.touched_at < ? AND t.status = 'uploading'
         AND NOT EXISTS (SELECT 1 FROM streamed_volumes s WHERE s.file_id = t.file_id)
       ORDER BY t.touched_at LIMIT ?`,
      ...[time, limit],
    );
  }

  /** Ends expired requests. Deletes rows that ended before `endedBefore`. */
  async expire(now: number, endedBefore: number): Promise<void> {
    await this.sql.execute(
      `UPDATE file_requests SET ended_at = ?, end_reason = 'expired' WHERE ended_at IS NULL AND expires_at <= ?`,
      ...[now, now],
    );
    const ended = 'SELECT id FROM file_requests WHERE ended_at < ?';
    await this.sql.transaction(async (tx) => {
      await tx.execute(`DELETE FROM request_uploads WHERE request_id IN (${ended})`, endedBefore);
      await tx.execute('DELETE FROM file_requests WHERE ended_at < ?', endedBefore);
    });
  }
}
