/** Creates transfers: open ones for uploads to come, and finished ones whose only volume came with the request. */
import { limits, type NewTransfer } from '@szafa/protocol';
import { ADMIN_ACCOUNT, isAdmin, liveAccount } from '../accounts/account-rows.ts';
import { accountGone } from '../accounts/refusals.ts';
import { lockDir } from '../files/directories-table.ts';
import { insertFile } from '../files/file-changes-table.ts';
import type { FileRow } from '../files/files-table.ts';
import { countedOf, extraOf, isOverQuota, lockUsage } from '../files/quota.ts';
import { Rollback, type Sql, takeNamedLock } from '../platform/sql/sql.ts';
import {
  insertTransfer,
  type NewTransferIds,
  NOT_DONE,
  OPEN,
  parseOpenCounts,
  type TransferRow,
  toTransfer,
} from './transfer-rows.ts';
import { insertVolumes } from './volumes-table.ts';

/** `taken`: the id belongs to another transfer. `too many`: the creator exceeds the open-upload limit. */
export type Creation = 'created' | 'taken' | 'no directory' | 'over quota' | 'too many';

/** Limits of accounts without limits of their own; undefined means unlimited. */
export interface UploadLimits {
  /** Bytes of files and open transfers. */
  quota?: number | undefined;
  open?: OpenLimit | undefined;
}

interface OpenLimit {
  transfers: number;
  /** Volumes of all open transfers together. */
  volumes: number;
}

/** Creates an open transfer within a transaction; throws `Rollback` if the transaction must be rolled back. */
export async function createTransfer(
  tx: Sql,
  init: NewTransfer,
  ids: NewTransferIds,
  { quota, open }: UploadLimits,
): Promise<Creation> {
  if (!(await lockDir(tx, ids.creator, init.dirId))) return 'no directory';
  if (quota !== undefined) await lockUsage(tx, ids.creator);
  const counts = open && `${OPEN} AS open, ${OWN_LIMITS}`;
  const inserted = await insertForLiveAccount<OpenUploads>(
    tx,
    toTransfer(init, ids, 'uploading'),
    ids.accountId,
    counts,
  );
  if (!inserted) return 'taken';
  if (open && (await exceedsOpenUploadLimit(tx, ids.creator, inserted, open))) throw new Rollback('too many');
  await insertVolumes(tx, ids.fileId, init.volumes);
  if (quota !== undefined && (await isOverQuota(tx, ids.creator, quota))) throw new Rollback('over quota');
  return 'created';
}

/** Builds the row of the file that a transfer becomes. */
export const toFile = (transfer: TransferRow, now: number): Omit<FileRow, 'seq'> => ({
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

/** A file whose only volume is already in the store. */
export interface ReceivedFile {
  init: NewTransfer;
  ids: NewTransferIds;
}

/** Inserts the transfer as done; false if its id is taken. */
export async function beginDone(tx: Sql, { init, ids }: ReceivedFile): Promise<boolean> {
  return (await insertForLiveAccount(tx, toTransfer(init, ids, 'done'), ids.accountId)) !== undefined;
}

/**
 * Inserts the file of a transfer inserted by `beginDone`. A refusal removes only this transfer and keeps the rest of the
 * transaction.
 */
export async function finishDone(
  tx: Sql,
  { init, ids }: ReceivedFile,
  quota: number | undefined,
): Promise<Creation> {
  const file = toFile(toTransfer(init, ids, 'done'), ids.now);
  const more = { counted: countedOf(file), extra: extraOf(file) };
  // Checked before the file is inserted: a transfer that is done does not count toward the quota itself.
  if (quota !== undefined && (await isOverQuota(tx, ids.creator, quota, more))) {
    await tx.execute('DELETE FROM transfers WHERE transfer_id = ?', ids.transferId);
    return 'over quota';
  }
  await insertVolumes(tx, ids.fileId, init.volumes);
  await insertFile(tx, file);
  return 'created';
}

/** Returns the `returning` columns, or undefined if the id exists. */
async function insertForLiveAccount<Row = object>(
  tx: Sql,
  row: TransferRow,
  accountId = ADMIN_ACCOUNT,
  returning = 'transfer_id',
): Promise<Row | undefined> {
  const params = isAdmin(accountId) ? [] : [accountId];
  const columns = [returning, ...params.map(() => `(${liveAccount(tx.dialect)}) AS live`)].join(', ');
  const inserted = await insertTransfer<Row & { live?: number | null }>(tx, row, columns, params);
  if (inserted?.live === null) throw accountGone();
  return inserted;
}

/** More inits than an account ever has in progress at the same moment. */
const INITS_AT_ONCE = 64;

const ownLimit = (column: string) =>
  `(SELECT ${column} FROM accounts WHERE accounts.username = transfers.creator)`;
/** Columns with the creator's own limits, for a query of transfers. */
export const OWN_LIMITS = `${ownLimit('open_transfers')} AS own_transfers, ${ownLimit('open_volumes')} AS own_volumes`;

/** The columns OPEN and OWN_LIMITS, as the statement that inserted a transfer saw them. */
interface OpenUploads {
  open: string;
  own_transfers: number | null;
  own_volumes: number | null;
}

/** Whether the creator exceeds the open-upload limit: their own, or `usual`. */
async function exceedsOpenUploadLimit(
  tx: Sql,
  creator: string,
  seen: OpenUploads,
  usual: OpenLimit,
): Promise<boolean> {
  const limit = {
    transfers: seen.own_transfers ?? usual.transfers,
    volumes: seen.own_volumes ?? usual.volumes,
  };
  const exceeds = (open: string, moreTransfers: number, moreVolumes: number) => {
    const { transfers, volumes } = parseOpenCounts(open);
    return transfers + moreTransfers > limit.transfers || volumes + moreVolumes > limit.volumes;
  };
  // The insert does not see concurrent inits. Only near the limit do they have to wait for each other.
  if (!exceeds(seen.open, INITS_AT_ONCE, INITS_AT_ONCE * limits.volumesPerFile)) return false;
  await takeNamedLock(tx, `account ${creator}`);
  const text = `SELECT ${OPEN} AS open FROM transfers WHERE creator = ? AND ${NOT_DONE} LIMIT 1`;
  const [now] = await tx.query<{ open: string }>(text, creator);
  return exceeds(now!.open, 0, 0);
}
