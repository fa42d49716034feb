import { hash } from 'node:crypto';
import type { Streamed, StreamedFile, Volume } from '@szafa/protocol';
import { ADMIN_ACCOUNT, requireLiveAccount } from '../accounts/account-rows.ts';
import { isOverAllowance, isOverQuota, lockUsage } from '../files/quota.ts';
import { Queries, Refused, refusal, type Sql } from '../platform/sql/sql.ts';
import { OWN_MOST } from './open-limit.ts';
import { COLUMNS, lockTransfer, OPEN, openCounts, type TransferRow } from './transfer-rows.ts';
import { findVolume, forgetVolumes, insertVolumes, listVolumes } from './volumes-table.ts';

const INTO = 'INSERT INTO streamed_volumes (file_id, idx, size, sha256)';

/** `known`: one of that number is there already, or the transfer takes no more; see `find`. */
export type Arrival = 'arrived' | 'known';

/** `gaps`: not exactly the volumes 1 to `chunkCount` are there. `other`: it was completed with other values. */
export type Filing = 'gaps' | 'other' | 'over quota';

/**
 * Streamed transfers: the client says what a volume is when it sends it. Each has a row from the moment it is durable, so
 * that these rows, and not what the store has, say what was received. Complete makes the specification of them, and from
 * then on the transfer is as any other.
 */
export class StreamedTable extends Queries {
  /** Writes down that a volume is durable, if the transfer is open and has none of that number. */
  arrive(
    { transferId, fileId, streamed }: { transferId: string; fileId: string; streamed: Streamed },
    { idx, size, sha256 }: Volume,
    claimed: boolean,
  ): Promise<Arrival> {
    if (streamed === 'sized') return this.#arriveSized(transferId, { idx, size, sha256 });
    return this.sql
      .transaction<Arrival>(async (tx) => {
        // Whoever claims holds the transfer as well.
        if (claimed) await lockTransfer(tx, transferId);
        const held = claimed ? await endClaim(tx, fileId, idx) : 0;
        // What it has counts as it grows, since nobody said how much it would be.
        const [open] = await tx.execute(
          `UPDATE transfers SET chunk_count = chunk_count + 1, stored_size = stored_size + ?
           WHERE transfer_id = ? AND status = 'uploading' RETURNING transfer_id`,
          size - held,
          transferId,
        );
        if (!open) throw new Refused('known');
        const [row] = await tx.execute(
          `${INTO} VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING idx`,
          fileId,
          idx,
          size,
          sha256,
        );
        if (!row) throw new Refused('known');
        return 'arrived';
      })
      .catch(refusal<Arrival>);
  }

  /** One statement, and transfers of many volumes at once do not wait for each other. */
  async #arriveSized(transferId: string, { idx, size, sha256 }: Volume): Promise<Arrival> {
    const [row] = await this.sql.execute(
      `${INTO} SELECT file_id, CAST(? AS INTEGER), CAST(? AS BIGINT), CAST(? AS TEXT) FROM transfers
       WHERE transfer_id = ? AND status = 'uploading' ${this.sql.dialect.forShare}
       ON CONFLICT DO NOTHING RETURNING idx`,
      idx,
      size,
      sha256,
      transferId,
    );
    return row ? 'arrived' : 'known';
  }

  /** The volume of that number, as it was sent or as complete has taken it. */
  async find(fileId: string, idx: number): Promise<Volume | undefined> {
    const [row] = await this.sql.query<Volume>(
      'SELECT idx, size, sha256 FROM streamed_volumes WHERE file_id = ? AND idx = ?',
      fileId,
      idx,
    );
    if (row) return row;
    const specified = await findVolume(this.sql, fileId, idx);
    return specified?.sha256 === '' ? undefined : specified;
  }

  /** The volumes that a transfer is known to be made of, or to have so far. */
  volumes({
    file_id,
    status,
    streamed,
  }: Pick<TransferRow, 'file_id' | 'status' | 'streamed'>): Promise<Volume[]> {
    return isStreaming({ status, streamed }) ? this.list(file_id) : listVolumes(this.sql, file_id);
  }

  /** What was received of an open transfer, in order. */
  list(fileId: string): Promise<Volume[]> {
    return listArrived(this.sql, fileId);
  }

  /** Whether the creator of a transfer has as many volumes under way as they may: `usual`, or their own number. */
  async isFull(transferId: string, usual: number): Promise<boolean> {
    const [row] = await this.sql.query<{ open: string; own_volumes: number | null }>(
      `SELECT ${OPEN} AS open, ${OWN_MOST} FROM transfers WHERE transfer_id = ?`,
      transferId,
    );
    return row !== undefined && openCounts(row.open).volumes >= (row.own_volumes ?? usual);
  }

  /**
   * Claims bytes of the quota for a volume of a transfer whose length nobody knows, before its body is read. They count
   * until the volume has arrived, and then as its own. Of one number only one volume arrives, so they are claimed once for
   * each number: what a crash left is claimed by whoever sends that volume again.
   */
  async claim(
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
        const [held] = await tx.query<{ bytes: number }>(text, fileId, idx);
        const more = Math.max(0, size - (held?.bytes ?? 0));
        await tx.execute(
          `INSERT INTO streamed_claims (file_id, idx, bytes, holders) VALUES (?, ?, ?, 1)
           ON CONFLICT (file_id, idx) DO UPDATE
           SET bytes = streamed_claims.bytes + excluded.bytes, holders = streamed_claims.holders + 1`,
          fileId,
          idx,
          more,
        );
        if (more === 0) return 'claimed';
        await addStored(tx, fileId, more);
        await lockUsage(tx, row.creator);
        if (await isOverQuota(tx, row.creator, quota)) throw new Refused('over quota');
        return 'claimed';
      })
      .catch(refusal<'over quota'>);
  }

  /** The volume did not arrive. */
  unclaim(transferId: string, idx: number): Promise<void> {
    return this.sql.transaction(async (tx) => {
      const row = await lockTransfer(tx, transferId);
      if (!row) return;
      const [left] = await tx.execute<{ holders: number }>(
        'UPDATE streamed_claims SET holders = holders - 1 WHERE file_id = ? AND idx = ? RETURNING holders',
        row.file_id,
        idx,
      );
      if (left?.holders === 0) await addStored(tx, row.file_id, -(await endClaim(tx, row.file_id, idx)));
    });
  }

  /** After a start nobody sends any volume: no claim stands. */
  releaseClaims(): Promise<void> {
    return this.sql.transaction(async (tx) => {
      const claims = await tx.execute<{ file_id: string; bytes: number }>(
        'DELETE FROM streamed_claims RETURNING file_id, bytes',
      );
      for (const { file_id, bytes } of claims) await addStored(tx, file_id, -bytes);
    });
  }

  /** Takes back the row of a volume whose bytes are lost. False when complete has taken it already. */
  withdraw(transferId: string, { idx, size, sha256 }: Volume): Promise<boolean> {
    return this.sql.transaction(async (tx) => {
      const row = await lockTransfer(tx, transferId);
      if (row?.status !== 'uploading') return false;
      const gone = await tx.execute(
        'DELETE FROM streamed_volumes WHERE file_id = ? AND idx = ? AND sha256 = ? RETURNING idx',
        row.file_id,
        idx,
        sha256,
      );
      if (gone.length > 0 && row.streamed === 'unsized') {
        await tx.execute(
          'UPDATE transfers SET chunk_count = chunk_count - 1, stored_size = stored_size - ? WHERE transfer_id = ?',
          size,
          transferId,
        );
      }
      return true;
    });
  }

  /**
   * `uploading` -> `storing` with what the file is, if all volumes are there. Repeated with the same it gives the transfer
   * as it is; out of `failed` it goes back to `storing`.
   */
  beginStoring(
    transferId: string,
    owner: string,
    file: StreamedFile,
    quota: number | undefined,
    accountId = ADMIN_ACCOUNT,
  ): Promise<TransferRow | Filing | undefined> {
    return this.sql
      .transaction<TransferRow | Filing | undefined>(async (tx) => {
        await requireLiveAccount(tx, accountId);
        const before = await lockTransfer(tx, transferId);
        if (!before) return undefined;
        const digest = completionDigest(file);
        if (before.status !== 'uploading') {
          if (before.completion_digest !== digest) return 'other';
          if (before.status !== 'failed') return before;
        } else if (before.streamed === 'sized' && before.chunk_count !== file.chunkCount) return 'gaps';
        if (quota !== undefined) await lockUsage(tx, owner);
        const storedSize = before.status === 'failed' ? before.stored_size : await specify(tx, before, file);
        if (storedSize === undefined) return 'gaps';
        const [row] = await tx.execute<TransferRow>(
          `UPDATE transfers SET status = 'storing', owner = ?, file_name = ?, file_size = ?, stored_size = ?,
             total_sha256 = ?, chunk_count = ?, enc_params = ?, completion_digest = ? WHERE transfer_id = ? RETURNING ${COLUMNS}`,
          owner,
          file.fileName,
          file.fileSize,
          storedSize,
          file.totalSha256,
          file.chunkCount,
          file.encParams,
          digest,
          transferId,
        );
        const grows = Math.max(file.fileSize, storedSize) > Math.max(before.file_size, before.stored_size);
        const isNew = (before.owner ?? before.creator) !== owner;
        const isOver = grows || isNew ? isOverQuota : isOverAllowance;
        if (quota !== undefined && (await isOver(tx, owner, quota))) throw new Refused('over quota');
        return row;
      })
      .catch(refusal<'over quota'>);
  }
}

/** The volumes that arrived become the specification; undefined where they are not exactly those. */
async function specify(
  tx: Sql,
  { file_id }: TransferRow,
  { chunkCount }: StreamedFile,
): Promise<number | undefined> {
  const volumes = await listArrived(tx, file_id);
  if (volumes.length !== chunkCount || volumes.at(-1)!.idx !== chunkCount) return undefined;
  await forgetVolumes(tx, file_id);
  await insertVolumes(tx, file_id, volumes);
  return volumes.reduce((sum, { size }) => sum + size, 0);
}

/** The same for the same values, whatever becomes of the file later. */
export function completionDigest({
  fileName,
  fileSize,
  totalSha256,
  chunkCount,
  encParams,
}: StreamedFile): string {
  const values = [fileName, fileSize, totalSha256, chunkCount, encParams];
  return hash('sha256', JSON.stringify(values), 'base64url');
}

/** Those of another database; what was claimed there for others is not claimed here. */
export async function insertArrived(tx: Sql, fileId: string, volumes: Volume[]): Promise<void> {
  let stored = 0;
  for (const { idx, size, sha256 } of volumes) {
    await tx.execute(`${INTO} VALUES (?, ?, ?, ?)`, fileId, idx, size, sha256);
    stored += size;
  }
  const text = "UPDATE transfers SET stored_size = ? WHERE file_id = ? AND streamed = 'unsized'";
  await tx.execute(text, stored, fileId);
}

function listArrived(sql: Sql, fileId: string): Promise<Volume[]> {
  return sql.query<Volume>(
    'SELECT idx, size, sha256 FROM streamed_volumes WHERE file_id = ? ORDER BY idx',
    fileId,
  );
}

async function addStored(tx: Sql, fileId: string, bytes: number): Promise<void> {
  await tx.execute(
    `UPDATE transfers SET stored_size = stored_size + ?
     WHERE file_id = ? AND status = 'uploading' AND streamed = 'unsized'`,
    bytes,
    fileId,
  );
}

/** How many bytes were claimed for a volume of that number. */
async function endClaim(tx: Sql, fileId: string, idx: number): Promise<number> {
  const [claim] = await tx.execute<{ bytes: number }>(
    'DELETE FROM streamed_claims WHERE file_id = ? AND idx = ? RETURNING bytes',
    fileId,
    idx,
  );
  return claim?.bytes ?? 0;
}

/** Its volumes are as they come; from complete on it is as any other. */
export const isStreaming = ({ status, streamed }: Pick<TransferRow, 'status' | 'streamed'>) =>
  streamed !== 'no' && status === 'uploading';
