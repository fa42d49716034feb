import { limitNames } from '@szafa/protocol';
import { PASSKEY_COLUMNS } from '../../accounts/factors-table.ts';
import { SESSION_COLUMNS } from '../../accounts/sessions-table.ts';
import { FILE_COLUMNS, type FileRow } from '../../files/files-table.ts';
import { insertInto, type Sql, type Value } from '../../platform/sql/sql.ts';
import { REQUEST_COLUMNS, UPLOAD_COLUMNS } from '../../sharing/requests-table.ts';
import { SHARE_COLUMNS } from '../../sharing/share-rows.ts';
import { TRANSFER_COLUMNS, type TransferRow } from '../../transfers/transfer-rows.ts';

const PAGE = 500;

/** The tables that migrate copies: their columns, the key for paging, and a smaller page size where rows may be long. */
export const tables = {
  accounts: {
    key: 'username',
    columns: [
      ...['username', 'account_id', 'password_hash', 'created_at', 'keys', 'identity', 'recovery_hash'],
      ...['totp_secret', 'totp_step', 'deleting_since', 'disabled_at', ...limitNames],
    ] as const,
  },
  account_documents: { key: 'account_id', columns: ['account_id', 'rev', 'written_rev'] },
  sessions: { key: 'token_hash', columns: SESSION_COLUMNS },
  passkeys: { key: 'credential_id', columns: PASSKEY_COLUMNS },
  invitations: {
    key: 'id',
    columns: ['id', 'token_hash', 'note', 'quota_bytes', 'created_at', 'expires_at'],
  },
  audit_log: { key: 'seq', columns: ['seq', 'at', 'actor', 'account', 'action', 'detail'] },
  dirs: { key: 'dir_id', columns: ['dir_id', 'owner', 'name', 'created_at'] },
  files: { key: 'seq', columns: FILE_COLUMNS },
  transfers: { key: 'transfer_id', columns: TRANSFER_COLUMNS },
  shares: { key: 'id', columns: SHARE_COLUMNS, page: 8 },
  file_requests: { key: 'id', columns: REQUEST_COLUMNS },
  request_uploads: { key: 'token_hash', columns: UPLOAD_COLUMNS },
} as const;

export type TableName = keyof typeof tables;
type Row = Record<string, Value>;

interface Table {
  key: string;
  columns: readonly string[];
  page?: number;
}

/** Reads all rows of a table, page by page. */
export async function* rowsOf(sql: Sql, table: TableName, after?: Value): AsyncGenerator<Row> {
  const { key, columns, page = PAGE }: Table = tables[table];
  const first = `SELECT ${columns.join(', ')} FROM ${table} ORDER BY ${key} LIMIT ${page}`;
  const next = `SELECT ${columns.join(', ')} FROM ${table} WHERE ${key} > ? ORDER BY ${key} LIMIT ${page}`;
  const begin = after === undefined ? sql.query<Row>(first) : sql.query<Row>(next, after);
  for (let rows = await begin; rows.length > 0; ) {
    yield* rows;
    rows = rows.length < page ? [] : await sql.query<Row>(next, rows.at(-1)![key]!);
  }
}

export const filesOf = (sql: Sql) =>
  rowsOf(sql, 'files') as AsyncGenerator<unknown> as AsyncGenerator<FileRow>;

/** Lists open uploads. */
export async function* uploadsOf(sql: Sql): AsyncGenerator<TransferRow> {
  const transfers = rowsOf(sql, 'transfers') as AsyncGenerator<unknown> as AsyncGenerator<TransferRow>;
  for await (const transfer of transfers) if (transfer.status !== 'done') yield transfer;
}

export async function insertRow(tx: Sql, table: TableName, row: Row): Promise<void> {
  const { columns } = tables[table];
  await tx.execute(insertInto(table, columns), ...columns.map((column) => row[column]!));
}

export async function isEmpty(sql: Sql): Promise<boolean> {
  for (const table of Object.keys(tables)) {
    if ((await sql.query(`SELECT 1 FROM ${table} LIMIT 1`)).length > 0) return false;
  }
  return true;
}
