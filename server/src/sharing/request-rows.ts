import type { SessionRow } from '../accounts/account-rows.ts';
import type { Sql } from '../platform/sql/sql.ts';
import { isUsable } from './share-rows.ts';

/** Joins the owner (`c`) of a file request (`r`), if the account can be used. */
export const JOIN_OWNER = `JOIN accounts c ON c.account_id = r.account_id AND ${isUsable('c')}`;
export const IS_OPEN = 'r.ended_at IS NULL AND (r.expires_at IS NULL OR r.expires_at > ?)';

/**
 * Returns a visitor's upload as a session of the owner that reaches only this transfer: the files belong to the owner
 * and arrive at the owner's rate. `state` names columns of the transfer (`t`) to return as well.
 */
export async function findUploadSession<State>(
  sql: Sql,
  tokenHash: string,
  transferId: string,
  state: string,
  now: number,
): Promise<(SessionRow & State) | undefined> {
  const [row] = await sql.query<SessionRow & State>(
    `SELECT r.id AS session_id, c.username, c.account_id, v.created_at AS used_at, 'upload' AS scope, NULL AS only_dir,
       r.expires_at, c.disabled_at, c.upload_rate, c.download_rate, ${state}
     FROM request_uploads v JOIN file_requests r ON r.id = v.request_id ${JOIN_OWNER}
       JOIN transfers t ON t.transfer_id = v.transfer_id
     WHERE v.token_hash = ? AND v.transfer_id = ? AND ${IS_OPEN}`,
    ...[tokenHash, transferId, now],
  );
  return row;
}

/** Stops counting a cancelled transfer for its request. A completed one counts even if its file is deleted. */
export async function deleteUpload(tx: Sql, transferId: string): Promise<void> {
  await tx.execute('DELETE FROM request_uploads WHERE transfer_id = ?', transferId);
}
