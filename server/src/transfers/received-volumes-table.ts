import { Queries, type Sql } from '../platform/sql/sql.ts';

/** Volumes per row, one bit each. */
const BLOCK = 32;

/**
 * Received volumes, for stores that list slowly. A received volume may be missing here. A recorded one stays valid as long as
 * its group exists, unless fsck withdraws it.
 */
export class ReceivedVolumesTable extends Queries {
  async add(fileId: string, numbers: Iterable<number>): Promise<void> {
    const blocks = new Map<number, number>();
    for (const idx of new Set(numbers)) {
      const block = Math.floor(idx / BLOCK);
      blocks.set(block, (blocks.get(block) ?? 0) + 2 ** (idx % BLOCK));
    }
    // In ascending order to avoid deadlocks between processes.
    for (const [block, bitmap] of [...blocks].sort(([a], [b]) => a - b)) {
      const text = `INSERT INTO received_volumes (file_id, block, bitmap) VALUES (?, ?, ?)
        ON CONFLICT (file_id, block) DO UPDATE SET bitmap = received_volumes.bitmap | excluded.bitmap`;
      await this.sql.execute(text, fileId, block, bitmap);
    }
  }

  /** Forgets volumes that must be sent again. */
  async remove(fileId: string, numbers: Iterable<number>): Promise<void> {
    for (const idx of numbers) {
      const bit = 2 ** (idx % BLOCK);
      const text =
        'UPDATE received_volumes SET bitmap = bitmap - ? WHERE file_id = ? AND block = ? AND (bitmap & ?) <> 0';
      await this.sql.execute(text, bit, fileId, Math.floor(idx / BLOCK), bit);
    }
  }

  async numbers(fileId: string): Promise<Set<number>> {
    const text = 'SELECT block, bitmap FROM received_volumes WHERE file_id = ?';
    const rows = await this.sql.query<{ block: number; bitmap: number }>(text, fileId);
    const numbers = new Set<number>();
    for (const { block, bitmap } of rows) {
      for (let bit = 0; bit < BLOCK; bit++) {
        if (Math.floor(bitmap / 2 ** bit) % 2 === 1) numbers.add(block * BLOCK + bit);
      }
    }
    return numbers;
  }

  /** Deletes the rows of transfers that are complete or no longer exist. */
  async expire(): Promise<void> {
    const text = `DELETE FROM received_volumes WHERE NOT EXISTS (SELECT 1 FROM transfers t
        WHERE t.file_id = received_volumes.file_id AND t.status IN ('uploading', 'storing', 'failed'))`;
    await this.sql.execute(text);
  }
}

export async function forgetReceived(tx: Sql, fileId: string): Promise<void> {
  await tx.execute('DELETE FROM received_volumes WHERE file_id = ?', fileId);
}
