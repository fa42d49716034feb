import type { Sql } from '../platform/sql/sql.ts';
import { type FileRow, isFileId } from './files-table.ts';
import { countedIn, EXTRA, shiftUsage } from './usage.ts';

/** What is needed of files to take many of them away, or elsewhere. */
export type HeldFile = Pick<
  FileRow,
  'file_id' | 'owner' | 'dir_id' | 'size' | 'stored_size' | 'trashed_at'
> & {
  extra: number;
};

export const HELD = `file_id, owner, dir_id, size, stored_size, trashed_at, ${EXTRA} AS extra`;

/**
 * Files with these ids, whosever they are, locked until the transaction ends; in the order of their ids, so that two batches wait in
 * one direction only.
 */
export function holdFiles<Row = HeldFile>(tx: Sql, ids: string[], columns = HELD): Promise<Row[]> {
  return tx.query<Row>(
    `SELECT ${columns} FROM files WHERE file_id ${tx.dialect.amongListed}
     ORDER BY file_id ${tx.dialect.forUpdate}`,
    JSON.stringify(ids.filter(isFileId)),
  );
}

/** Files that are held, as one is deleted: the records go with their transfers, and the volumes are left to the sweeper. */
export async function removeFiles(tx: Sql, files: HeldFile[], now: number): Promise<void> {
  if (files.length === 0) return;
  const among = `file_id ${tx.dialect.amongListed}`;
  const ids = JSON.stringify(files.map(({ file_id }) => file_id));
  await tx.execute(
    `INSERT INTO garbage (file_id, not_before) SELECT file_id, CAST(? AS BIGINT) FROM files WHERE ${among}`,
    now,
    ids,
  );
  await tx.execute(`DELETE FROM files WHERE ${among}`, ids);
  const transfers = await tx.execute<{ transfer_id: string }>(
    `DELETE FROM transfers WHERE ${among} RETURNING transfer_id`,
    ids,
  );
  await tx.execute(
    `DELETE FROM pulls WHERE lease_until = 0 AND transfer_id ${tx.dialect.amongListed}`,
    JSON.stringify(transfers.map(({ transfer_id }) => transfer_id)),
  );
  await shiftUsage(
    tx,
    files.map((file) => ({ ...file, from: countedIn(file), to: 'nowhere' })),
  );
}
