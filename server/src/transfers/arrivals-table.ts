import { Queries, type Sql } from '../platform/sql/sql.ts';

/** So many volumes share a row, one bit each. */
const BLOCK = 32;

/**
 * Notes of volumes that have arrived in a store that is slow to say what it has. A note may be missing; one that is
 * there is right for as long as its group exists, unless fsck withdraws the volume.
 */
export class ArrivalsTable extends Queries {
  async add(fileId: string, numbers: Iterable<number>): Promise<void> {
    const blocks = new Map<number, number>();
    for (const idx of new Set(numbers)) {
      const block = Math.floor(idx / BLOCK);
      blocks.set(block, (blocks.get(block) ?? 0) + 2 ** (idx % BLOCK));
    }
    // In the order of their numbers, so that two who note the same blocks wait for each other in one direction only.
    for (const [block, bits] of [...blocks].sort(([a], [b]) => a - b)) {
      await this.sql.execute(
        `INSERT INTO arrivals (file_id, block, bits) VALUES (?, ?, ?)
         ON CONFLICT (file_id, block) DO UPDATE SET bits = arrivals.bits | excluded.bits`,
        fileId,
        block,
        bits,
      );
    }
  }

  /** Taken back: those volumes are to be sent again. */
  async remove(fileId: string, numbers: Iterable<number>): Promise<void> {
    for (const idx of numbers) {
      const bit = 2 ** (idx % BLOCK);
      await this.sql.execute(
        'UPDATE arrivals SET bits = bits - ? WHERE file_id = ? AND block = ? AND (bits & ?) <> 0',
        bit,
        fileId,
        Math.floor(idx / BLOCK),
        bit,
      );
    }
  }

  async numbers(fileId: string): Promise<Set<number>> {
    const rows = await this.sql.query<{ block: number; bits: number }>(
      'SELECT block, bits FROM arrivals WHERE file_id = ?',
      fileId,
    );
    const numbers = new Set<number>();
    for (const { block, bits } of rows) {
      for (let bit = 0; bit < BLOCK; bit++) {
        if (Math.floor(bits / 2 ** bit) % 2 === 1) numbers.add(block * BLOCK + bit);
      }
    }
    return numbers;
  }

  /** Those of transfers that are complete or no more. */
  async expire(): Promise<void> {
    await this.sql.execute(
      `DELETE FROM arrivals WHERE NOT EXISTS (SELECT 1 FROM transfers t
         WHERE t.file_id = arrivals.file_id AND t.status IN ('uploading', 'storing', 'failed'))`,
    );
  }
}

export async function forgetArrivals(tx: Sql, fileId: string): Promise<void> {
  await tx.execute('DELETE FROM arrivals WHERE file_id = ?', fileId);
}
