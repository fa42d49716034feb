import { type Ending, limits, type NewTransfer } from '@szafa/protocol';
import { requireLiveAccount } from '../accounts/account-rows.ts';
import { type Actor, limitAudit, recordAudit } from '../operator/audit-table.ts';
import { countSome, hold, insertInto, Queries, Refused, refusal, type Sql } from '../platform/sql/sql.ts';
import { type Bounds, type Creation, createTransfer } from '../transfers/create-transfer.ts';
import { NOT_DONE, type TransferRow } from '../transfers/transfer-rows.ts';
import type { NewIds } from '../transfers/transfers-table.ts';
import { type AddressCount, IS_OPEN, OF_AN_ACCOUNT } from './visits-table.ts';

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
  /** How many uploads there were, done or under way, and how many bytes they are together. */
  begun: number;
  begun_bytes: number;
  /** Of these, those that are under way. */
  uploading: number;
  uploading_bytes: number;
}

/** As a visitor finds it who knows the link. */
export type FoundRequest = Pick<RequestRow, 'files' | 'bytes' | 'expires_at' | 'begun' | 'begun_bytes'> & {
  header: string;
  account_id: string;
  owner: string;
};

export const REQUEST_COLUMNS = [
  ...[
    'id',
    'owner',
    'account_id',
    'header',
    'access_hash',
    'own',
    'files',
    'bytes',
    'created_at',
    'expires_at',
  ],
  ...['ended_at', 'end_reason'],
] as const;
export const UPLOAD_COLUMNS = [
  'token_hash',
  'request_id',
  'transfer_id',
  'bytes',
  'created_at',
  'address',
] as const;

const ofUploads = (what: string, more = '') =>
  `(SELECT CAST(COALESCE(${what}, 0) AS BIGINT) FROM request_uploads v ${more} WHERE v.request_id = r.id)`;
const UNDER_WAY = `JOIN transfers t ON t.transfer_id = v.transfer_id AND t.${NOT_DONE}`;
const BEGUN = `${ofUploads('COUNT(*)')} AS begun, ${ofUploads('SUM(v.bytes)')} AS begun_bytes`;
const LISTED = `r.id, r.owner, r.files, r.bytes, r.created_at, r.expires_at, r.end_reason, ${BEGUN},
  ${ofUploads('COUNT(*)', UNDER_WAY)} AS uploading, ${ofUploads('SUM(v.bytes)', UNDER_WAY)} AS uploading_bytes`;

/** What is left of its limits, where an upload does not fit. */
export interface NoRoom {
  files: number;
  bytes: number;
}

/** Removes requests of an account that is leaving; how many there were. Part of a transaction that holds it. */
export async function removeRequests(tx: Sql, owner: string, limit: number): Promise<number> {
  const text = 'SELECT id FROM file_requests WHERE owner = ? ORDER BY id LIMIT ?';
  const requests = await tx.query<{ id: string }>(text, owner, limit);
  for (const { id } of requests) {
    await tx.execute('DELETE FROM request_uploads WHERE request_id = ?', id);
    await tx.execute('DELETE FROM file_requests WHERE id = ?', id);
  }
  return requests.length;
}

/**
 * Requests: links by which visitors upload for an owner. What was begun is counted by its rows, under the lock of the request, so
 * that no number of visitors and nodes passes its limits; a row goes with a transfer that is given up, and stays with one that is done.
 */
export class RequestsTable extends Queries {
  create(request: NewRequest, mostEntries?: number): Promise<'made' | 'taken' | 'too many'> {
    const { id, owner, accountId, header, accessHash, own, files, bytes, now, expiresAt } = request;
    return this.sql.transaction(async (tx) => {
      await requireLiveAccount(tx, accountId);
      await hold(tx, `requests ${accountId}`);
      const [same] = await tx.query<{ account_id: string; header: string; access_hash: string }>(
        'SELECT account_id, header, access_hash FROM file_requests WHERE id = ?',
        id,
      );
      if (same) {
        const isOwn = same.account_id === accountId && same.header === header;
        return isOwn && same.access_hash === accessHash ? 'made' : 'taken';
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
      return 'made';
    });
  }

  /** All of an account that it has not ended itself. */
  list(owner: string): Promise<(RequestRow & { own: string })[]> {
    return this.sql.query(
      `SELECT ${LISTED}, r.own FROM file_requests r WHERE r.owner = ? AND r.own <> ''`,
      owner,
    );
  }

  /** Those that are not over, of all accounts or of one, in the order of their ids. */
  listOpen(after: string, limit: number, owner?: string): Promise<RequestRow[]> {
    const of = owner === undefined ? '' : 'AND r.owner = ?';
    return this.sql.query<RequestRow>(
      `SELECT ${LISTED} FROM file_requests r WHERE r.id > ? AND r.ended_at IS NULL ${of} ORDER BY r.id LIMIT ?`,
      ...[after, ...(owner === undefined ? [] : [owner]), limit],
    );
  }

  count(): Promise<number> {
    return countSome(this.sql, 'file_requests WHERE ended_at IS NULL');
  }

  /** `owner`: only if it is theirs; they do not see it in their list any more. False where there is none. */
  end(id: string, now: number, actor: Actor, owner?: string): Promise<boolean> {
    return this.sql.transaction(async (tx) => {
      const [request] = await tx.query<{ owner: string; ended_at: number | null; own: string }>(
        `SELECT owner, ended_at, own FROM file_requests WHERE id = ? ${tx.dialect.forUpdate}`,
        id,
      );
      if (!request || request.own === '' || (owner !== undefined && request.owner !== owner)) return false;
      // The owner puts away what is over.
      if (owner !== undefined) await tx.execute("UPDATE file_requests SET own = '' WHERE id = ?", id);
      if (request.ended_at !== null) return owner !== undefined;
      await tx.execute("UPDATE file_requests SET ended_at = ?, end_reason = 'ended' WHERE id = ?", now, id);
      await recordAudit(tx, { at: now, actor, account: request.owner, action: 'request ended', detail: id });
      return true;
    });
  }

  /** For whoever knows the link; undefined for all others. */
  async find(
    id: string,
    accessHash: string,
    now: number,
  ): Promise<FoundRequest | { ending: Ending } | undefined> {
    const [row] = await this.sql.query<FoundRequest & { access_hash: string; end_reason: Ending | null }>(
      `SELECT r.owner, r.account_id, r.header, r.access_hash, r.files, r.bytes, r.expires_at, r.end_reason, ${BEGUN}
       FROM file_requests r ${OF_AN_ACCOUNT} WHERE r.id = ?`,
      id,
    );
    if (!row || row.access_hash !== accessHash) return undefined;
    const { access_hash: _, end_reason: ending, ...found } = row;
    if (ending !== null) return { ending };
    return found.expires_at !== null && found.expires_at <= now ? { ending: 'expired' } : found;
  }

  /** The transfer that was begun with a token, if there is one. */
  async transferOf(id: string, tokenHash: string): Promise<string | undefined> {
    const [row] = await this.sql.query<{ transfer_id: string }>(
      'SELECT transfer_id FROM request_uploads WHERE token_hash = ? AND request_id = ?',
      tokenHash,
      id,
    );
    return row?.transfer_id;
  }

  /** Whether a visitor began this transfer. */
  async isUpload(transferId: string): Promise<boolean> {
    const text = 'SELECT 1 FROM request_uploads WHERE transfer_id = ?';
    return (await this.sql.query(text, transferId)).length > 0;
  }

  /**
   * Counts an upload and makes its transfer, if there is room for it. `taken`: the token has one. `over`: the request is. `crowded`: too
   * many are under way.
   */
  begin(
    id: string,
    tokenHash: string,
    init: NewTransfer,
    ids: NewIds & { accountId: string },
    bounds: Bounds,
    { most = limits.uploadsOfRequest, from }: { most?: number; from?: AddressCount | undefined } = {},
  ): Promise<Creation | 'over' | 'crowded' | NoRoom> {
    return this.sql
      .transaction<Creation | 'over' | 'crowded' | NoRoom>(async (tx) => {
        await requireLiveAccount(tx, ids.accountId);
        const [request] = await tx.query<Pick<RequestRow, 'files' | 'bytes'>>(
          `SELECT r.files, r.bytes FROM file_requests r WHERE r.id = ? AND ${IS_OPEN} ${tx.dialect.forUpdate}`,
          id,
          ids.now,
        );
        if (!request) return 'over';
        const [same] = await tx.query('SELECT 1 FROM request_uploads WHERE token_hash = ?', tokenHash);
        if (same) return 'taken';
        // After the lock, and by a statement of its own: what others have begun meanwhile counts.
        const [sums] = await tx.query<
          Pick<RequestRow, 'begun' | 'begun_bytes' | 'uploading'> & { own: number }
        >(
          `SELECT ${BEGUN}, ${ofUploads('COUNT(*)', UNDER_WAY)} AS uploading,
             ${ofUploads('COUNT(CASE WHEN v.address = ? THEN 1 END)', UNDER_WAY)} AS own
           FROM file_requests r WHERE r.id = ?`,
          from?.address ?? null,
          id,
        );
        const left = { files: request.files - sums!.begun, bytes: request.bytes - sums!.begun_bytes };
        if (left.files < 1 || left.bytes < init.storedSize) return left;
        if (sums!.uploading >= most || (from && sums!.own >= from.most)) return 'crowded';
        const created = await createTransfer(tx, init, ids, bounds);
        if (created !== 'created') return created;
        const [row] = await tx.execute(
          `${insertInto('request_uploads', UPLOAD_COLUMNS)} ON CONFLICT DO NOTHING RETURNING request_id`,
          ...[tokenHash, id, ids.transferId, init.storedSize, ids.now, from?.address ?? null],
        );
        if (!row) throw new Refused('taken');
        return created;
      })
      .catch(refusal<Creation>);
  }

  /** Uploads by requests that ended since then: nobody can go on with one. */
  leftOver(since: number, limit: number): Promise<Pick<TransferRow, 'transfer_id' | 'file_id'>[]> {
    return this.sql.query(
      `SELECT t.transfer_id, t.file_id FROM file_requests r JOIN request_uploads v ON v.request_id = r.id
         JOIN transfers t ON t.transfer_id = v.transfer_id
       WHERE r.ended_at > ? AND t.status IN ('uploading', 'failed') LIMIT ?`,
      since,
      limit,
    );
  }

  /** Uploads that have no volume yet, and none on its way since then: a body on its way touches its transfer. */
  emptySince(time: number, limit: number): Promise<Pick<TransferRow, 'transfer_id' | 'file_id'>[]> {
    return this.sql.query(
      `SELECT t.transfer_id, t.file_id FROM transfers t JOIN request_uploads v ON v.transfer_id = t.transfer_id
       WHERE t.touched_at < ? AND t.status = 'uploading'
         AND NOT EXISTS (SELECT 1 FROM streamed_volumes s WHERE s.file_id = t.file_id)
       ORDER BY t.touched_at LIMIT ?`,
      time,
      limit,
    );
  }

  /** Ends what has expired; forgets what ended before `endedBefore`. */
  async expire(now: number, endedBefore: number): Promise<void> {
    await this.sql.execute(
      `UPDATE file_requests SET ended_at = ?, end_reason = 'expired' WHERE ended_at IS NULL AND expires_at <= ?`,
      now,
      now,
    );
    const forgotten = 'SELECT id FROM file_requests WHERE ended_at < ?';
    await this.sql.transaction(async (tx) => {
      await tx.execute(`DELETE FROM request_uploads WHERE request_id IN (${forgotten})`, endedBefore);
      await tx.execute('DELETE FROM file_requests WHERE ended_at < ?', endedBefore);
    });
  }
}
