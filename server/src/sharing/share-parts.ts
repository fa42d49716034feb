/** What belongs to a share beside its row: the files in it, and tickets for it. Parts of transactions. */
import type { Ending } from '@szafa/protocol';
import { insertInto, type Sql, type Value } from '../platform/sql/sql.ts';

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

/** What belongs to a share, into another database that has its row. */
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

/** What others got is gone; that it was, and why it is over, is known for a while. */
export async function close(
  tx: Sql,
  id: string,
  ending: Ending,
  now: number,
  keepOwn: boolean,
): Promise<void> {
  await tx.execute(
    `UPDATE shares SET ended_at = ?, end_reason = ?, header = '', letter = NULL ${keepOwn ? '' : ", own = ''"} WHERE id = ?`,
    now,
    ending,
    id,
  );
  await tx.execute('DELETE FROM share_files WHERE share_id = ?', id);
  await tx.execute('DELETE FROM share_tickets WHERE share_id = ?', id);
}

/** Removes shares of an account that is leaving; how many there were. Part of a transaction that holds it. */
export async function removeShares(tx: Sql, owner: string, limit: number): Promise<number> {
  const text = 'SELECT id FROM shares WHERE owner = ? ORDER BY id LIMIT ?';
  const shares = await tx.query<{ id: string }>(text, owner, limit);
  for (const { id } of shares) {
    await tx.execute('DELETE FROM share_files WHERE share_id = ?', id);
    await tx.execute('DELETE FROM share_tickets WHERE share_id = ?', id);
    await tx.execute('DELETE FROM shares WHERE id = ?', id);
  }
  return shares.length;
}
