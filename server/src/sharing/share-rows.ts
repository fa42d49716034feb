/** SQL for shares that is part of larger transactions: files and tickets, recipients, deletion of accounts. */
import { type Ending, limits } from '@szafa/protocol';
import { isUsable } from '../accounts/account-rows.ts';
import { ApiError } from '../platform/http/api-error.ts';
import { exists, first, insertInto, type Sql, takeNamedLock, type Value } from '../platform/sql/sql.ts';

export const SHARE_COLUMNS = [
  ...['id', 'owner', 'account_id', 'header', 'access_hash', 'own', 'files', 'created_at', 'expires_at'],
  ...['downloads', 'downloaded', 'used_at', 'ended_at', 'end_reason', 'recipient', 'recipient_id', 'letter'],
] as const;
export const TICKET_COLUMNS = ['share_id', 'ticket_hash', 'expires_at', 'address'] as const;

const ROWS_AT_ONCE = 125;
const insertText = (rows: number) =>
  `INSERT INTO share_files (share_id, number, file_id) VALUES ${Array(rows).fill('(?, ?, ?)').join(', ')}`;
const INSERT_MANY = insertText(ROWS_AT_ONCE);
const INSERT_ONE = insertText(1);

export async function insertFiles(tx: Sql, shareId: string, files: string[]): Promise<void> {
  const rows = files.map((fileId, at): Value[] => [shareId, at + 1, fileId]);
  const many = rows.length - (rows.length % ROWS_AT_ONCE);
  for (let at = 0; at < many; at += ROWS_AT_ONCE)
    await tx.execute(INSERT_MANY, ...rows.slice(at, at + ROWS_AT_ONCE).flat());
  for (const row of rows.slice(many)) await tx.execute(INSERT_ONE, ...row);
}

/** Copies files and tickets of a share into another database, which already has the row of the share. */
export async function copyShareParts(from: Sql, to: Sql, id: string): Promise<void> {
  const ordered = 'SELECT file_id FROM share_files WHERE share_id = ? ORDER BY number';
  const files = await from.query<{ file_id: string }>(ordered, id);
  const ids = files.map(({ file_id }) => file_id);
  await insertFiles(to, id, ids);
  const text = `SELECT ${TICKET_COLUMNS.join(', ')} FROM share_tickets WHERE share_id = ?`;
  const tickets = await from.query<Record<(typeof TICKET_COLUMNS)[number], Value>>(text, id);
  const insert = insertInto('share_tickets', TICKET_COLUMNS);
  for (const { ticket_hash, expires_at, address } of tickets)
    await to.execute(insert, id, ticket_hash, expires_at, address);
}

async function deleteParts(tx: Sql, id: string): Promise<void> {
  await tx.execute('DELETE FROM share_files WHERE share_id = ?', id);
  await tx.execute('DELETE FROM share_tickets WHERE share_id = ?', id);
}

/** Ends a share. The row is kept for a while to record why it ended. */
export async function endShare(tx: Sql, id: string, reason: Ending, now: number): Promise<void> {
  await tx.execute(
    "UPDATE shares SET ended_at = ?, end_reason = ?, header = '', letter = NULL WHERE id = ?",
    ...[now, reason, id],
  );
  await deleteParts(tx, id);
}

/** The same answer for unknown names and for accounts that are disabled, being deleted or without public keys. */
export const unknownRecipient = (extra?: { files: string[] }) =>
  new ApiError(404, 'nothing can be shared with an account of this name', extra && { extra });

/** Returns the account id of the recipient of a new share, and locks the account until the transaction ends. */
export async function findRecipient(tx: Sql, ownerId: string, username: string): Promise<string> {
  const recipient = await first<{ account_id: string }>(
    tx,
    `SELECT u.account_id FROM accounts u WHERE u.username = ? AND ${isUsable('u')} AND u.identity IS NOT NULL ${tx.dialect.forShare}`,
    username,
  );
  if (!recipient) throw unknownRecipient({ files: [] });
  const accountId = recipient.account_id;
  if (!(await exists(tx, 'SELECT 1 FROM accounts WHERE account_id = ? AND identity IS NOT NULL', ownerId)))
    throw new ApiError(
      409,
      'your account has no public keys yet; log in with a current client to create them',
    );
  // If two owners share at the same time, the second one must count the share of the first.
  await takeNamedLock(tx, `shares for ${accountId}`);
  const [count] = await tx.query<{ of_all: number; of_one: number | null }>(
    `SELECT COUNT(*) AS of_all, CAST(SUM(CASE WHEN account_id = ? THEN 1 ELSE 0 END) AS BIGINT) AS of_one
     FROM shares WHERE recipient_id = ? AND ended_at IS NULL`,
    ...[ownerId, accountId],
  );
  const { ofAll, ofOne } = limits.sharesForAccount;
  if (count!.of_all >= ofAll || (count!.of_one ?? 0) >= ofOne)
    throw new ApiError(409, 'the recipient has reached the share limit');
  return accountId;
}

/** Ends shares received by an account that is being deleted, and returns their number. */
export async function endReceivedShares(tx: Sql, recipientId: string, now: number, limit: number) {
  const shares = await tx.query<{ id: string }>(
    `SELECT id FROM shares WHERE recipient_id = ? AND ended_at IS NULL ORDER BY id LIMIT ? ${tx.dialect.forUpdate}`,
    ...[recipientId, limit],
  );
  for (const { id } of shares) await endShare(tx, id, 'ended', now);
  return shares.length;
}

/** Deletes shares of an account that is being deleted, and returns their number. */
export async function deleteShares(tx: Sql, owner: string, limit: number): Promise<number> {
  const text = 'SELECT id FROM shares WHERE owner = ? ORDER BY id LIMIT ?';
  const shares = await tx.query<{ id: string }>(text, owner, limit);
  for (const { id } of shares) {
    await deleteParts(tx, id);
    await tx.execute('DELETE FROM shares WHERE id = ?', id);
  }
  return shares.length;
}
