/** How transfers begin: those that are to be uploaded, and those that come with all that they are. */

import type { NewTransfer } from '@szafa/protocol';
import { ADMIN_ACCOUNT, isAdmin, liveAccount } from '../accounts/account-rows.ts';
import { accountGone } from '../accounts/refusals.ts';
import { lockDir } from '../files/directories-table.ts';
import { insertFile } from '../files/file-changes-table.ts';
import type { FileRow } from '../files/files-table.ts';
import { countedOf, extraOf, isOverQuota, lockUsage } from '../files/quota.ts';
import { Refused, type Sql } from '../platform/sql/sql.ts';
import { type Crowd, isCrowded, OWN_MOST } from './open-limit.ts';
import { insertTransfer, type NewIds, OPEN, type TransferRow, transferOf } from './transfer-rows.ts';
import { insertVolumes } from './volumes-table.ts';

/** `taken`: the id is that of another transfer. `too many`: so many are under way already. */
export type Creation = 'created' | 'taken' | 'no directory' | 'over quota' | 'too many';

/** What an account may have that has no limits of its own; what is not named has no bound. */
export interface Bounds {
  /** Bytes of the files, the transfers under way and this one. */
  quota?: number | undefined;
  /** Transfers under way, and the volumes of all of them. */
  open?: { transfers: number; volumes: number } | undefined;
}

/** Part of a transaction, which it ends by `Refused` where it has written something already. */
export async function createTransfer(
  tx: Sql,
  init: NewTransfer,
  ids: NewIds,
  { quota, open }: Bounds,
): Promise<Creation> {
  if (!(await lockDir(tx, ids.creator, init.dirId))) return 'no directory';
  if (quota !== undefined) await lockUsage(tx, ids.creator);
  const crowd = open && `${OPEN} AS open, ${OWN_MOST}`;
  const inserted = await insertOf<Crowd>(tx, transferOf(init, ids, 'uploading'), ids, crowd);
  if (!inserted) return 'taken';
  if (open && (await isCrowded(tx, ids.creator, inserted, open))) throw new Refused('too many');
  await insertVolumes(tx, ids.fileId, init.volumes);
  if (quota !== undefined && (await isOverQuota(tx, ids.creator, quota))) throw new Refused('over quota');
  return 'created';
}

/** What comes with all that it is. */
export interface Whole {
  init: NewTransfer;
  ids: NewIds;
}

/** Whether its id was free. */
export async function beginDone(tx: Sql, { init, ids }: Whole): Promise<boolean> {
  return (await insertOf(tx, transferOf(init, ids, 'done'), ids)) !== undefined;
}

/** The file of one that was begun. One that is refused leaves the others of the transaction as they are. */
export async function finishDone(
  tx: Sql,
  { init, ids }: Whole,
  quota: number | undefined,
): Promise<Creation> {
  const file = fileOf(transferOf(init, ids, 'done'), ids.now);
  const more = { counted: countedOf(file), extra: extraOf(file) };
  // Before its file is: the transfer alone does not count.
  if (quota !== undefined && (await isOverQuota(tx, ids.creator, quota, more))) {
    await tx.execute('DELETE FROM transfers WHERE transfer_id = ?', ids.transferId);
    return 'over quota';
  }
  await insertVolumes(tx, ids.fileId, init.volumes);
  await insertFile(tx, file);
  return 'created';
}

/** What `returning` says of the new row; undefined when there is a transfer of that id. */
async function insertOf<Row = object>(
  tx: Sql,
  row: TransferRow,
  { accountId = ADMIN_ACCOUNT }: NewIds,
  returning = 'transfer_id',
): Promise<Row | undefined> {
  const asked = isAdmin(accountId) ? [] : [accountId];
  const both = [returning, ...asked.map(() => `(${liveAccount(tx.dialect)}) AS live`)].join(', ');
  const inserted = await insertTransfer<Row & { live?: number | null }>(tx, row, both, asked);
  if (inserted?.live === null) throw accountGone();
  return inserted;
}

/** What a transfer becomes. */
export const fileOf = (transfer: TransferRow, now: number): Omit<FileRow, 'seq'> => ({
  file_id: transfer.file_id,
  owner: transfer.owner!,
  dir_id: transfer.dir_id,
  file_name: transfer.file_name,
  size: transfer.file_size,
  stored_size: transfer.stored_size,
  sha256: transfer.total_sha256,
  chunk_count: transfer.chunk_count,
  created_at: now,
  cloned_from: null,
  enc_params: transfer.enc_params,
  rev: 0,
  trashed_at: 0,
  thumbnail: null,
});
