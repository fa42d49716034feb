import type { SessionRow } from '../accounts/account-rows.ts';
import type { Sql } from '../platform/sql/sql.ts';

/** How an upload or a ticket is counted by the visitor's address. */
export interface AddressCount {
  /** A digest: the database need not know the address itself. */
  address: string;
  most: number;
}

/** With `r` for a request: whose account is there, and may do anything at all. */
export const OF_AN_ACCOUNT =
  'JOIN accounts c ON c.account_id = r.account_id AND c.deleting_since IS NULL AND c.disabled_at IS NULL';
export const IS_OPEN = 'r.ended_at IS NULL AND (r.expires_at IS NULL OR r.expires_at > ?)';

/**
 * The upload that a visitor does with this token, as a session of the owner that reaches only this transfer: what arrives is theirs, at
 * their rate. `state` are columns of the transfer, `t`.
 */
export async function visitOf<State>(
  sql: Sql,
  tokenHash: string,
  transferId: string,
  state: string,
  now: number,
): Promise<(SessionRow & State) | undefined> {
  const [row] = await sql.query<SessionRow & State>(
    `SELECT r.id AS session_id, c.username, c.account_id, v.created_at AS used_at, 'upload' AS scope, NULL AS only_dir,
       r.expires_at, c.disabled_at, c.upload_rate, c.download_rate, ${state}
     FROM request_uploads v JOIN file_requests r ON r.id = v.request_id ${OF_AN_ACCOUNT}
       JOIN transfers t ON t.transfer_id = v.transfer_id
     WHERE v.token_hash = ? AND v.transfer_id = ? AND ${IS_OPEN}`,
    ...[tokenHash, transferId, now],
  );
  return row;
}

/** A transfer that is given up counts for its request no more. One that was completed does, whatever becomes of the file. */
export async function forgetUpload(tx: Sql, transferId: string): Promise<void> {
  await tx.execute('DELETE FROM request_uploads WHERE transfer_id = ?', transferId);
}
