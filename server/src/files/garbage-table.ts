import { countSome, Queries, type Sql } from '../platform/sql/sql.ts';
import { forgetArrivals } from '../transfers/arrivals-table.ts';
import { forgetVolumes } from '../transfers/volumes-table.ts';

/** Volume groups that must go. A row's time is a lease: whoever works on the group moves it ahead. */
export class GarbageTable extends Queries {
  count(): Promise<number> {
    return countSome(this.sql, 'garbage');
  }

  /** Clones that are due: nobody works on them any more. */
  async dueClones(now: number): Promise<string[]> {
    const rows = await this.sql.query<{ file_id: string }>(
      'SELECT file_id FROM garbage WHERE clone_key IS NOT NULL AND not_before <= ?',
      now,
    );
    return rows.map((row) => row.file_id);
  }

  /** That group is no clone under way any more, and is not to be removed. */
  unclaim(fileId: string): Promise<void> {
    return unclaim(this.sql, fileId);
  }

  /** Takes up to `limit` groups that are due and holds them until `leaseUntil`; a clone loses its claim. */
  async take(now: number, leaseUntil: number, limit: number): Promise<string[]> {
    const due = await this.sql.query<{ file_id: string; not_before: number }>(
      'SELECT file_id, not_before FROM garbage WHERE not_before <= ? ORDER BY not_before LIMIT ?',
      now,
      limit,
    );
    const taken: string[] = [];
    for (const { file_id, not_before } of due) {
      const won = await this.sql.execute(
        'UPDATE garbage SET not_before = ?, clone_key = NULL WHERE file_id = ? AND not_before = ? RETURNING file_id',
        leaseUntil,
        file_id,
        not_before,
      );
      if (won.length === 1) taken.push(file_id);
    }
    return taken;
  }

  async hold(fileId: string, leaseUntil: number): Promise<void> {
    await this.sql.execute('UPDATE garbage SET not_before = ? WHERE file_id = ?', leaseUntil, fileId);
  }

  /** The bytes are gone: forget the group. */
  forget(fileId: string): Promise<void> {
    return this.sql.transaction(async (tx) => {
      await forgetVolumes(tx, fileId);
      await forgetArrivals(tx, fileId);
      await tx.execute('DELETE FROM garbage WHERE file_id = ?', fileId);
    });
  }

  /** After a start nobody works on any group: all are due. */
  async release(): Promise<void> {
    await this.sql.execute('UPDATE garbage SET not_before = 0');
  }

  /** Whether the group belongs to a file, to a transfer, or is waiting here. */
  async isKnown(fileId: string): Promise<boolean> {
    const rows = await this.sql.query(
      `SELECT 1 FROM files WHERE file_id = ? UNION ALL SELECT 1 FROM transfers WHERE file_id = ?
       UNION ALL SELECT 1 FROM garbage WHERE file_id = ?`,
      fileId,
      fileId,
      fileId,
    );
    return rows.length > 0;
  }
}

export async function unclaim(sql: Sql, fileId: string): Promise<void> {
  await sql.execute('DELETE FROM garbage WHERE file_id = ? AND clone_key IS NOT NULL', fileId);
}
