import type { SessionRow } from '../accounts/account-rows.ts';
import { first, type Sql } from '../platform/sql/sql.ts';
import { IS_OPEN, JOIN_OWNER } from './links-table.ts';

/**
 * Returns a visitor's upload as a session of the owner that reaches only this transfer: the files belong to the owner and are
 * limited by the owner's rate. `state` names further columns of the transfer (`t`) to return.
 */
export function findUploadSession<State>(
  sql: Sql,
  tokenHash: string,
  transferId: string,
  state: string,
  now: number,
): Promise<(SessionRow & State) | undefined> {
  return first<SessionRow & State>(
    sql,
    `SELECT l.id AS session_id, c.username, c.account_id, v.created_at AS used_at, 'upload' AS scope, NULL AS only_dir,
       l.expires_at, c.disabled_at, c.upload_rate, c.download_rate, ${state}
     FROM request_uploads v JOIN file_requests l ON l.id = v.request_id ${JOIN_OWNER}
       JOIN transfers t ON t.transfer_id = v.transfer_id
     WHERE v.token_hash = ? AND v.transfer_id = ? AND ${IS_OPEN}`,
    ...[tokenHash, transferId, now],
  );
}

/** Stops counting a cancelled transfer for its request. A completed transfer counts even if its file is deleted. */
export async function deleteUpload(tx: Sql, transferId: string): Promise<void> {
  await tx.execute('DELETE FROM request_uploads WHERE transfer_id = ?', transferId);
}
