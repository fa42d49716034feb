import { countUpToLimit, exists, Queries, type Sql } from '../platform/sql/sql.ts';
import { forgetReceived } from '../transfers/received-volumes-table.ts';
import { forgetVolumes } from '../transfers/volumes-table.ts';

/** Volume groups to be removed. `not_before` is a lease: a process working on a group moves it into the future. */
export class GarbageTable extends Queries {
  count(): Promise<number> {
    return countUpToLimit(this.sql, 'garbage');
  }

  /** Clones whose lease has expired. */
  async dueClones(now: number): Promise<string[]> {
    const text = 'SELECT file_id FROM garbage WHERE clone_key IS NOT NULL AND not_before <= ?';
    return (await this.sql.query<{ file_id: string }>(text, now)).map((row) => row.file_id);
  }

  /** Removes an unfinished clone from the garbage, so that its volumes are kept. */
  unclaim(fileId: string): Promise<void> {
    return unclaim(this.sql, fileId);
  }

  /** Leases up to `limit` groups that are due. An unfinished clone among them can no longer be finished. */
  async take(now: number, leaseUntil: number, limit: number): Promise<string[]> {
    const due = await this.sql.query<{ file_id: string; not_before: number }>(
      'SELECT file_id, not_before FROM garbage WHERE not_before <= ? ORDER BY not_before LIMIT ?',
      ...[now, limit],
    );
    const leased: string[] = [];
    for (const { file_id, not_before } of due) {
      const won = await this.sql.execute(
        'UPDATE garbage SET not_before = ?, clone_key = NULL WHERE file_id = ? AND not_before = ? RETURNING file_id',
        ...[leaseUntil, file_id, not_before],
      );
      if (won.length === 1) leased.push(file_id);
    }
    return leased;
  }

  async extendLease(fileId: string, leaseUntil: number): Promise<void> {
    await this.sql.execute('UPDATE garbage SET not_before = ? WHERE file_id = ?', leaseUntil, fileId);
  }

  /** Forgets a group whose bytes have been removed. */
  forget(fileId: string): Promise<void> {
    return this.sql.transaction(async (tx) => {
      await forgetVolumes(tx, fileId);
      await forgetReceived(tx, fileId);
      await tx.execute('DELETE FROM garbage WHERE file_id = ?', fileId);
    });
  }

  /** Ends all leases when the server starts. */
  async release(): Promise<void> {
    await this.sql.execute('UPDATE garbage SET not_before = 0');
  }

  /** Whether the group belongs to a file or transfer, or is already garbage. */
  isKnown(fileId: string): Promise<boolean> {
    return exists(
      this.sql,
      `SELECT 1 FROM files WHERE file_id = ? UNION ALL SELECT 1 FROM transfers WHERE file_id = ?
       UNION ALL SELECT 1 FROM garbage WHERE file_id = ?`,
      ...[fileId, fileId, fileId],
    );
  }
}

export async function unclaim(sql: Sql, fileId: string): Promise<void> {
  await sql.execute('DELETE FROM garbage WHERE file_id = ? AND clone_key IS NOT NULL', fileId);
}
