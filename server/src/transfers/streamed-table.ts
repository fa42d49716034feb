import { hash } from 'node:crypto';
import type { Streamed, StreamedFile, Volume } from '@szafa/protocol';
import { ADMIN_ACCOUNT, requireLiveAccount } from '../accounts/account-rows.ts';
import { isOverAllowance, isOverQuota, lockUsage } from '../files/quota.ts';
import { Queries, Rollback, rollbackReason, type Sql } from '../platform/sql/sql.ts';
import { OWN_LIMITS } from './create-transfer.ts';
import { COLUMNS, lockTransfer, OPEN, parseOpenCounts, type TransferRow } from './transfer-rows.ts';
import { findVolume, forgetVolumes, insertVolumes, listVolumes } from './volumes-table.ts';

const INTO = 'INSERT INTO streamed_volumes (file_id, idx, size, sha256)';

/** `known`: the transfer already has a volume with this number, or is not open; see `find`. */
export type Recording = 'recorded' | 'known';

/** `gaps`: the received volumes are not exactly 1 to `chunkCount`. `other`: the transfer was completed with other values. */
export type CompletionRefusal = 'gaps' | 'other' | 'over quota';

/**
 * Volumes of streamed transfers, whose digests arrive with the volumes. A volume has a row as soon as it is durable; these
 * rows, not the store, decide what has been received. Complete turns them into the declaration that other transfers get from
 * init.
 */
export class StreamedTable extends Queries {
  /** Records a durable volume, if the transfer is open and has no volume with this number. */
  record(
    { transferId, fileId, streamed }: { transferId: string; fileId: string; streamed: Streamed },
    { idx, size, sha256 }: Volume,
    hasClaim: boolean,
  ): Promise<Recording> {
    if (streamed === 'sized') return this.#recordSized(transferId, { idx, size, sha256 });
    return this.sql
      .transaction<Recording>(async (tx) => {
        // Same lock order as `claimQuota`, which locks the transfer first.
        if (hasClaim) await lockTransfer(tx, transferId);
        const claimed = hasClaim ? await endClaim(tx, fileId, idx) : 0;
        // The length of the transfer is not known in advance, so it counts as it grows.
        const text = `UPDATE transfers SET chunk_count = chunk_count + 1, stored_size = stored_size + ?
          WHERE transfer_id = ? AND status = 'uploading' RETURNING transfer_id`;
        const [open] = await tx.execute(text, size - claimed, transferId);
        if (!open) throw new Rollback('known');
        const [row] = await tx.execute(
          `${INTO} VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING idx`,
          fileId,
          idx,
          size,
          sha256,
        );
        if (!row) throw new Rollback('known');
        return 'recorded';
      })
      .catch(rollbackReason<Recording>);
  }

  /** One statement with a shared lock, so that concurrent volumes of a transfer do not wait for each other. */
  async #recordSized(transferId: string, { idx, size, sha256 }: Volume): Promise<Recording> {
    const text = `${INTO} SELECT file_id, CAST(? AS INTEGER), CAST(? AS BIGINT), CAST(? AS TEXT) FROM transfers
      WHERE transfer_id = ? AND status = 'uploading' ${this.sql.dialect.forShare}
      ON CONFLICT DO NOTHING RETURNING idx`;
    const [row] = await this.sql.execute(text, idx, size, sha256, transferId);
    return row ? 'recorded' : 'known';
  }

  /** Returns the volume with this number, as received or as declared by complete. */
  async find(fileId: string, idx: number): Promise<Volume | undefined> {
    const text = 'SELECT idx, size, sha256 FROM streamed_volumes WHERE file_id = ? AND idx = ?';
    const [row] = await this.sql.query<Volume>(text, fileId, idx);
    if (row) return row;
    const specified = await findVolume(this.sql, fileId, idx);
    return specified?.sha256 === '' ? undefined : specified;
  }

  /** Lists the declared volumes of a transfer; for an open streamed transfer, those received so far. */
  volumes(transfer: Pick<TransferRow, 'file_id' | 'status' | 'streamed'>): Promise<Volume[]> {
    return isStreaming(transfer) ? this.list(transfer.file_id) : listVolumes(this.sql, transfer.file_id);
  }

  /** Lists the received volumes of an open transfer, in order. */
  list(fileId: string): Promise<Volume[]> {
    return listReceived(this.sql, fileId);
  }

  /** Whether the creator of a transfer has reached the limit of open volumes: the account's own, or `usual`. */
  async hasMaxOpenVolumes(transferId: string, usual: number): Promise<boolean> {
    const text = `SELECT ${OPEN} AS open, ${OWN_LIMITS} FROM transfers WHERE transfer_id = ?`;
    const [row] = await this.sql.query<{ open: string; own_volumes: number | null }>(text, transferId);
    return row !== undefined && parseOpenCounts(row.open).volumes >= (row.own_volumes ?? usual);
  }

  /**
   * Claims quota for a volume of a transfer of unknown length, before its body is read. The claim counts until the volume is
   * recorded. All uploads of the same volume number share one claim, since only one of them is recorded; after a crash, the
   * next upload takes the claim over.
   */
  async claimQuota(
    transferId: string,
    { idx, size }: Pick<Volume, 'idx' | 'size'>,
    quota: number,
  ): Promise<'claimed' | 'over quota' | 'closed'> {
    return this.sql
      .transaction<'claimed' | 'over quota' | 'closed'>(async (tx) => {
        const row = await lockTransfer(tx, transferId);
        if (row?.status !== 'uploading') return 'closed';
        const fileId = row.file_id;
        const text = 'SELECT bytes FROM streamed_claims WHERE file_id = ? AND idx = ?';
        const [claim] = await tx.query<{ bytes: number }>(text, fileId, idx);
        const more = Math.max(0, size - (claim?.bytes ?? 0));
        const insert = `INSERT INTO streamed_claims (file_id, idx, bytes, holders) VALUES (?, ?, ?, 1)
          ON CONFLICT (file_id, idx) DO UPDATE
          SET bytes = streamed_claims.bytes + excluded.bytes, holders = streamed_claims.holders + 1`;
        await tx.execute(insert, fileId, idx, more);
        if (more === 0) return 'claimed';
        await addStored(tx, fileId, more);
        await lockUsage(tx, row.creator);
        if (await isOverQuota(tx, row.creator, quota)) throw new Rollback('over quota');
        return 'claimed';
      })
      .catch(rollbackReason<'over quota'>);
  }

  /** Releases the claim of a volume that was not recorded. */
  releaseClaim(transferId: string, idx: number): Promise<void> {
    return this.sql.transaction(async (tx) => {
      const row = await lockTransfer(tx, transferId);
      if (!row) return;
      const text =
        'UPDATE streamed_claims SET holders = holders - 1 WHERE file_id = ? AND idx = ? RETURNING holders';
      const [left] = await tx.execute<{ holders: number }>(text, row.file_id, idx);
      if (left?.holders === 0) await addStored(tx, row.file_id, -(await endClaim(tx, row.file_id, idx)));
    });
  }

  /** Releases all claims after a start, when no volume is being sent. */
  releaseAllClaims(): Promise<void> {
    return this.sql.transaction(async (tx) => {
      const text = 'DELETE FROM streamed_claims RETURNING file_id, bytes';
      const claims = await tx.execute<{ file_id: string; bytes: number }>(text);
      for (const { file_id, bytes } of claims) await addStored(tx, file_id, -bytes);
    });
  }

  /** Deletes the row of a volume whose bytes are lost. False if the transfer is no longer open. */
  withdraw(transferId: string, { idx, size, sha256 }: Volume): Promise<boolean> {
    return this.sql.transaction(async (tx) => {
      const row = await lockTransfer(tx, transferId);
      if (row?.status !== 'uploading') return false;
      const text = 'DELETE FROM streamed_volumes WHERE file_id = ? AND idx = ? AND sha256 = ? RETURNING idx';
      const gone = await tx.execute(text, row.file_id, idx, sha256);
      if (gone.length > 0 && row.streamed === 'unsized') {
        const update =
          'UPDATE transfers SET chunk_count = chunk_count - 1, stored_size = stored_size - ? WHERE transfer_id = ?';
        await tx.execute(update, size, transferId);
      }
      return true;
    });
  }

  /**
   * Moves a transfer from `uploading` or `failed` to `storing` with the description of the file, if all volumes have been
   * received. A repeated call with the same values returns the transfer unchanged.
   */
  beginStoring(
    transferId: string,
    owner: string,
    file: StreamedFile,
    quota: number | undefined,
    accountId = ADMIN_ACCOUNT,
  ): Promise<TransferRow | CompletionRefusal | undefined> {
    return this.sql
      .transaction<TransferRow | CompletionRefusal | undefined>(async (tx) => {
        await requireLiveAccount(tx, accountId);
        const before = await lockTransfer(tx, transferId);
        if (!before) return undefined;
        const digest = completionDigest(file);
        if (before.status !== 'uploading') {
          if (before.completion_digest !== digest) return 'other';
          if (before.status !== 'failed') return before;
        } else if (before.streamed === 'sized' && before.chunk_count !== file.chunkCount) return 'gaps';
        if (quota !== undefined) await lockUsage(tx, owner);
        const storedSize =
          before.status === 'failed' ? before.stored_size : await declareReceived(tx, before, file);
        if (storedSize === undefined) return 'gaps';
        const [row] = await tx.execute<TransferRow>(
          `UPDATE transfers SET status = 'storing', owner = ?, file_name = ?, file_size = ?, stored_size = ?,
             total_sha256 = ?, chunk_count = ?, enc_params = ?, completion_digest = ? WHERE transfer_id = ? RETURNING ${COLUMNS}`,
          ...[owner, file.fileName, file.fileSize, storedSize, file.totalSha256, file.chunkCount],
          ...[file.encParams, digest, transferId],
        );
        const grows = Math.max(file.fileSize, storedSize) > Math.max(before.file_size, before.stored_size);
        const isNew = (before.owner ?? before.creator) !== owner;
        const isOver = grows || isNew ? isOverQuota : isOverAllowance;
        if (quota !== undefined && (await isOver(tx, owner, quota))) throw new Rollback('over quota');
        return row;
      })
      .catch(rollbackReason<'over quota'>);
  }
}

/** Declares the received volumes and returns their total size; undefined if they are not exactly 1 to `chunkCount`. */
async function declareReceived(
  tx: Sql,
  { file_id }: TransferRow,
  { chunkCount }: StreamedFile,
): Promise<number | undefined> {
  const volumes = await listReceived(tx, file_id);
  if (volumes.length !== chunkCount || volumes.at(-1)!.idx !== chunkCount) return undefined;
  await forgetVolumes(tx, file_id);
  await insertVolumes(tx, file_id, volumes);
  return volumes.reduce((sum, { size }) => sum + size, 0);
}

/** Identifies the values sent with complete, whatever happens to the file later. */
export function completionDigest(file: StreamedFile): string {
  const values = [file.fileName, file.fileSize, file.totalSha256, file.chunkCount, file.encParams];
  return hash('sha256', JSON.stringify(values), 'base64url');
}

/** Inserts volumes copied from another database, without its claims. */
export async function insertReceived(tx: Sql, fileId: string, volumes: Volume[]): Promise<void> {
  let stored = 0;
  for (const { idx, size, sha256 } of volumes) {
    await tx.execute(`${INTO} VALUES (?, ?, ?, ?)`, fileId, idx, size, sha256);
    stored += size;
  }
  const text = "UPDATE transfers SET stored_size = ? WHERE file_id = ? AND streamed = 'unsized'";
  await tx.execute(text, stored, fileId);
}

function listReceived(sql: Sql, fileId: string): Promise<Volume[]> {
  const text = 'SELECT idx, size, sha256 FROM streamed_volumes WHERE file_id = ? ORDER BY idx';
  return sql.query<Volume>(text, fileId);
}

async function addStored(tx: Sql, fileId: string, bytes: number): Promise<void> {
  const text = `UPDATE transfers SET stored_size = stored_size + ?
    WHERE file_id = ? AND status = 'uploading' AND streamed = 'unsized'`;
  await tx.execute(text, bytes, fileId);
}

/** Deletes the claim for a volume number and returns its bytes. */
async function endClaim(tx: Sql, fileId: string, idx: number): Promise<number> {
  const text = 'DELETE FROM streamed_claims WHERE file_id = ? AND idx = ? RETURNING bytes';
  const [claim] = await tx.execute<{ bytes: number }>(text, fileId, idx);
  return claim?.bytes ?? 0;
}

/** Whether a streamed transfer has not been completed yet; afterwards it is like any other transfer. */
export const isStreaming = ({ status, streamed }: Pick<TransferRow, 'status' | 'streamed'>) =>
  streamed !== 'no' && status === 'uploading';
