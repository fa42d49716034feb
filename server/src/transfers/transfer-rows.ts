import type { NewTransfer, Streamed } from '@szafa/protocol';
import { insertInto, type Sql } from '../platform/sql/sql.ts';
import { forgetPull } from './pull/pulls-table.ts';

export type TransferStatus = 'uploading' | 'storing' | 'done' | 'failed';

export interface TransferRow {
  transfer_id: string;
  /** Names the volume group from init on; becomes the file's id at complete. */
  file_id: string;
  creator: string;
  /** The id of the session that called init; null for the system token. */
  creator_session: string | null;
  /** Who called complete. */
  owner: string | null;
  dir_id: number;
  status: TransferStatus;
  file_name: string;
  file_size: number;
  stored_size: number;
  total_sha256: string;
  /** Of an unsized one that is open: how many have come. */
  chunk_count: number;
  created_at: number;
  touched_at: number;
  /** Empty once it is done: the file has them, and both live equally long. */
  enc_params: string;
  streamed: Streamed;
  /** Of a streamed one, a digest of what its complete said: the file may have another name by the time it is said again. */
  completion_digest: string | null;
}

export interface NewIds {
  transferId: string;
  fileId: string;
  creator: string;
  /** The session by which it is made. */
  madeBy?: string | null;
  now: number;
  /** Of the creator: only while that account is there; see `present`. */
  accountId?: string;
}

/** The record that an init makes. */
export const transferOf = (init: NewTransfer, ids: NewIds, status: 'uploading' | 'done'): TransferRow => ({
  transfer_id: ids.transferId,
  file_id: ids.fileId,
  creator: ids.creator,
  creator_session: ids.madeBy ?? null,
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
  ...[
    'file_size',
    'stored_size',
    'total_sha256',
    'chunk_count',
    'created_at',
    'touched_at',
    'enc_params',
    'streamed',
    'completion_digest',
  ],
] as const;
export const COLUMNS = TRANSFER_COLUMNS.join(', ');

/** As the indexes of those that are not done have it, so that they are used. */
export const NOT_DONE = "status <> 'done'";

/** With `o` for those that count. */
export const OPEN_COUNTS = "COUNT(*) || ' ' || COALESCE(SUM(o.chunk_count), 0)";
/** How many transfers, and volumes, the creator of a row has open. Those that are done do not count, so it never reads many. */
export const OPEN = `(SELECT ${OPEN_COUNTS} FROM transfers o WHERE o.creator = transfers.creator AND o.${NOT_DONE})`;

export function openCounts(open: string): { transfers: number; volumes: number } {
  const [transfers, volumes] = open.split(' ').map(Number) as [number, number];
  return { transfers, volumes };
}

export async function lockTransfer(tx: Sql, transferId: string): Promise<TransferRow | undefined> {
  const [row] = await tx.query<TransferRow>(
    `SELECT ${COLUMNS} FROM transfers WHERE transfer_id = ? ${tx.dialect.forUpdate}`,
    transferId,
  );
  return row;
}

/** What `returning`, whose parameters are `asked`, says of it; undefined when there is a transfer of that id. */
export async function insertTransfer<Row = object>(
  tx: Sql,
  row: TransferRow,
  returning = 'transfer_id',
  asked: string[] = [],
): Promise<Row | undefined> {
  const values = { ...row, enc_params: row.status === 'done' ? '' : row.enc_params };
  const [inserted] = await tx.execute<Row>(
    `${insertInto('transfers', TRANSFER_COLUMNS)} ON CONFLICT (transfer_id) DO NOTHING RETURNING ${returning}`,
    ...TRANSFER_COLUMNS.map((column) => values[column]),
    ...asked,
  );
  return inserted;
}

/** The transfer that a file came about by, which goes with it; a clone has none. */
export async function removeTransferOf(tx: Sql, fileId: string): Promise<TransferRow | undefined> {
  const [row] = await tx.execute<TransferRow>(
    `DELETE FROM transfers WHERE file_id = ? RETURNING ${COLUMNS}`,
    fileId,
  );
  if (row) await forgetPull(tx, row.transfer_id);
  return row;
}
