import type { NewTransfer, Streamed } from '@szafa/protocol';
import { insertInto, type Sql } from '../platform/sql/sql.ts';
import { forgetPull } from './pull/pulls-table.ts';

export type TransferStatus = 'uploading' | 'storing' | 'done' | 'failed';

export interface TransferRow {
  transfer_id: string;
  /** The id of the volume group from init on, and of the file after complete. */
  file_id: string;
  creator: string;
  /** The id of the session that called init; null for the system token. */
  creator_session: string | null;
  /** The account that called complete. */
  owner: string | null;
  dir_id: number;
  status: TransferStatus;
  file_name: string;
  file_size: number;
  stored_size: number;
  total_sha256: string;
  /** For an open transfer of unknown length: the number of volumes received so far. */
  chunk_count: number;
  created_at: number;
  touched_at: number;
  /** Empty once the transfer is done: the file has them, and is deleted together with the transfer. */
  enc_params: string;
  streamed: Streamed;
  /**
   * For a streamed transfer: the `completionDigest` of its complete, which identifies a repeated complete even after the file
   * was renamed.
   */
  completion_digest: string | null;
}

export interface NewTransferIds {
  transferId: string;
  fileId: string;
  creator: string;
  creatorSession?: string | null;
  now: number;
  /** The creator's account, which must exist; see `requireLiveAccount`. */
  accountId?: string;
}

export const toTransfer = (
  init: NewTransfer,
  ids: NewTransferIds,
  status: 'uploading' | 'done',
): TransferRow => ({
  transfer_id: ids.transferId,
  file_id: ids.fileId,
  creator: ids.creator,
  creator_session: ids.creatorSession ?? null,
  owner: status === 'done' ? ids.creator : null,
  dir_id: init.dirId,
  status,
  file_name: init.fileName,
  file_size: init.fileSize,
  stored_size: init.storedSize,
  total_sha256: init.totalSha256,
  chunk_count: init.volumes.length,
  created_at: ids.now,
  touched_at: ids.now,
  enc_params: init.encParams,
  streamed: init.streamed,
  completion_digest: null,
});

export const TRANSFER_COLUMNS = [
  ...['transfer_id', 'file_id', 'creator', 'creator_session', 'owner', 'dir_id', 'status', 'file_name'],
  ...['file_size', 'stored_size', 'total_sha256', 'chunk_count', 'created_at', 'touched_at'],
  ...['enc_params', 'streamed', 'completion_digest'],
] as const;
export const COLUMNS = TRANSFER_COLUMNS.join(', ');

/** Must be spelled as in the partial indexes, which are used only then. */
export const NOT_DONE = "status <> 'done'";

/** Counts over the open transfers `o`; parsed by `parseOpenCounts`. */
export const OPEN_COUNTS = "COUNT(*) || ' ' || COALESCE(SUM(o.chunk_count), 0)";
/** Number of transfers and volumes that the creator of a row has open. Finished transfers are not read, so this stays fast. */
export const OPEN = `(SELECT ${OPEN_COUNTS} FROM transfers o WHERE o.creator = transfers.creator AND o.${NOT_DONE})`;

export function parseOpenCounts(open: string): { transfers: number; volumes: number } {
  const [transfers, volumes] = open.split(' ').map(Number) as [number, number];
  return { transfers, volumes };
}

export async function lockTransfer(tx: Sql, transferId: string): Promise<TransferRow | undefined> {
  const text = `SELECT ${COLUMNS} FROM transfers WHERE transfer_id = ? ${tx.dialect.forUpdate}`;
  const [row] = await tx.query<TransferRow>(text, transferId);
  return row;
}

/** Inserts a transfer. Returns the `returning` columns, whose parameters are `params`, or undefined if the id exists. */
export async function insertTransfer<Row = object>(
  tx: Sql,
  row: TransferRow,
  returning = 'transfer_id',
  params: string[] = [],
): Promise<Row | undefined> {
  const values = { ...row, enc_params: row.status === 'done' ? '' : row.enc_params };
  const [inserted] = await tx.execute<Row>(
    `${insertInto('transfers', TRANSFER_COLUMNS)} ON CONFLICT (transfer_id) DO NOTHING RETURNING ${returning}`,
    ...TRANSFER_COLUMNS.map((column) => values[column]),
    ...params,
  );
  return inserted;
}

/** Deletes the transfer that created a file; a clone has no transfer. */
export async function removeTransferOf(tx: Sql, fileId: string): Promise<TransferRow | undefined> {
  const text = `DELETE FROM transfers WHERE file_id = ? RETURNING ${COLUMNS}`;
  const [row] = await tx.execute<TransferRow>(text, fileId);
  if (row) await forgetPull(tx, row.transfer_id);
  return row;
}
