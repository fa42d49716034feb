/** Rows of shares, and SQL that is part of larger transactions: files and tickets, recipients, deletion of accounts. */
import { type Ending, limits } from '@szafa/protocol';
import type { ReadableFile } from '../files/files-table.ts';
import { insertInto, type Sql, takeNamedLock, type Value } from '../platform/sql/sql.ts';

export interface NewShare {
  id: string;
  owner: string;
  accountId: string;
  files: string[];
  header: string;
  /** Who may open it: anyone who knows the link, shown by a value with this digest, or one account. */
  for: { accessHash: string } | { username: string; letter: string };
  own: string;
  now: number;
  expiresAt: number | null;
  downloads: number | null;
}

export interface ShareRow {
  id: string;
  owner: string;
  recipient: string | null;
  files: number;
  created_at: number;
  expires_at: number | null;
  downloads: number | null;
  downloaded: number;
  end_reason: Ending | null;
}

export interface OwnShareRow extends ShareRow {
  own: string;
  /** The number of its files that still exist. */
  present: number;
}

/** A share as the account sees it that receives it. */
export interface ReceivedRow extends Omit<ShareRow, 'recipient' | 'end_reason'> {
  identity: string;
  letter: string;
  present: number;
}

/** What opens a share: knowledge of the link, or the account it is for. */
export type ShareAccess = { accessHash: string } | { recipientId: string };

export type ActiveShare = Pick<ShareRow, 'expires_at' | 'downloads' | 'downloaded' | 'files'>;

/** A volume of a shared file, and the account whose download rate applies. */
export interface SharedVolume {
  fileId: string;
  file: ReadableFile;
  username: string;
  downloadRate: number | null;
}

export const SHARE_COLUMNS = [
  ...['id', 'owner', 'account_id', 'header', 'access_hash', 'own', 'files', 'created_at', 'expires_at'],
  ...['downloads', 'downloaded', 'used_at', 'ended_at', 'end_reason', 'recipient', 'recipient_id', 'letter'],
] as const;
export const LISTED =
  's.id, s.owner, s.recipient, s.files, s.created_at, s.expires_at, s.downloads, s.downloaded, s.end_reason';

/** Whether an account is neither being deleted nor disabled; `account` is its alias. */
export const isUsable = (account: string) =>
  `${account}.deleting_since IS NULL AND ${account}.disabled_at IS NULL`;
/** Joins the owner (`u`) of a share (`s`), if the account can be used. */
export const JOIN_OWNER = `JOIN accounts u ON u.account_id = s.account_id AND ${isUsable('u')}`;
export const IS_OPEN = 's.ended_at IS NULL AND (s.expires_at IS NULL OR s.expires_at > ?)';
/** Joins the files (`f`) of a share (`s`) that still exist; `g` is the row in share_files. */
export const JOIN_FILES = 'JOIN files f ON f.file_id = g.file_id AND f.owner = s.owner AND f.trashed_at = 0';

const SHARE_FILE_COLUMNS = ['share_id', 'number', 'file_id'] as const;
export const TICKET_COLUMNS = ['share_id', 'ticket_hash', 'expires_at', 'address'] as const;

const ROWS_AT_ONCE = 125;
const insertText = (rows: number) =>
  `INSERT INTO share_files (${SHARE_FILE_COLUMNS.join(', ')}) VALUES ${Array(rows).fill('(?, ?, ?)').join(', ')}`;
const INSERT_MANY = insertText(ROWS_AT_ONCE);
const INSERT_ONE = insertText(1);

export async function insertFiles(tx: Sql, shareId: string, files: string[]): Promise<void> {
  const rows = files.map((fileId, at): Value[] => [shareId, at + 1, fileId]);
  const many = rows.length - (rows.length % ROWS_AT_ONCE);
  for (let at = 0; at < many; at += ROWS_AT_ONCE) {
    await tx.execute(INSERT_MANY, ...rows.slice(at, at + ROWS_AT_ONCE).flat());
  }
  for (const row of rows.slice(many)) await tx.execute(INSERT_ONE, ...row);
}

/** Copies files and tickets of a share into another database that has its row. */
export async function copyShareParts(from: Sql, to: Sql, id: string): Promise<void> {
  const files = await from.query<{ file_id: string }>(
    'SELECT file_id FROM share_files WHERE share_id = ? ORDER BY number',
    id,
  );
  await insertFiles(
    to,
    id,
    files.map(({ file_id }) => file_id),
  );
  const tickets = await from.query<Record<(typeof TICKET_COLUMNS)[number], Value>>(
    `SELECT ${TICKET_COLUMNS.join(', ')} FROM share_tickets WHERE share_id = ?`,
    id,
  );
  const insert = insertInto('share_tickets', TICKET_COLUMNS);
  for (const { ticket_hash, expires_at, address } of tickets)
    await to.execute(insert, id, ticket_hash, expires_at, address);
}

async function deleteParts(tx: Sql, id: string): Promise<void> {
  await tx.execute('DELETE FROM share_files WHERE share_id = ?', id);
  await tx.execute('DELETE FROM share_tickets WHERE share_id = ?', id);
}

/** Ends a share. The row stays for a while, to say why it ended. `keepOwn`: it also stays in the owner's list. */
export async function endShare(
  tx: Sql,
  id: string,
  reason: Ending,
  now: number,
  keepOwn: boolean,
): Promise<void> {
  await tx.execute(
    `UPDATE shares SET ended_at = ?, end_reason = ?, header = '', letter = NULL ${keepOwn ? '' : ", own = ''"} WHERE id = ?`,
    now,
    reason,
    id,
  );
  await deleteParts(tx, id);
}

/** Why nothing can be shared with an account: it does not exist, it or the owner has no public keys, or it has received too many. */
export type RecipientProblem = 'unknown account' | 'owner has no identity' | 'too many for recipient';

/** Finds the recipient of a new share, and keeps the account until the transaction ends. */
export async function findRecipient(
  tx: Sql,
  ownerId: string,
  username: string,
): Promise<RecipientProblem | { accountId: string }> {
  const text = `SELECT u.account_id FROM accounts u WHERE u.username = ? AND ${isUsable('u')} AND u.identity IS NOT NULL ${tx.dialect.forShare}`;
  const [recipient] = await tx.query<{ account_id: string }>(text, username);
  if (!recipient) return 'unknown account';
  const accountId = recipient.account_id;
  const ownIdentity = 'SELECT 1 FROM accounts WHERE account_id = ? AND identity IS NOT NULL';
  if ((await tx.query(ownIdentity, ownerId)).length === 0) return 'owner has no identity';
  // Of two owners who share at the same time, the second counts the share of the first.
  await takeNamedLock(tx, `shares for ${accountId}`);
  const [count] = await tx.query<{ of_all: number; of_one: number | null }>(
    `SELECT COUNT(*) AS of_all, CAST(SUM(CASE WHEN account_id = ? THEN 1 ELSE 0 END) AS BIGINT) AS of_one
     FROM shares WHERE recipient_id = ? AND ended_at IS NULL`,
    ownerId,
    accountId,
  );
  const { ofAll, ofOne } = limits.sharesForAccount;
  const isFull = count!.of_all >= ofAll || (count!.of_one ?? 0) >= ofOne;
  return isFull ? 'too many for recipient' : { accountId };
}

/** Ends shares for an account that is being deleted, and returns their number. */
export async function endReceivedShares(
  tx: Sql,
  recipientId: string,
  now: number,
  limit: number,
): Promise<number> {
  const shares = await tx.query<{ id: string }>(
    `SELECT id FROM shares WHERE recipient_id = ? AND ended_at IS NULL ORDER BY id LIMIT ? ${tx.dialect.forUpdate}`,
    recipientId,
    limit,
  );
  for (const { id } of shares) await endShare(tx, id, 'ended', now, true);
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
