import { countUpToLimit, Queries } from '../platform/sql/sql.ts';

/** The progress of a check of every volume of every file, ordered by file number. */
export interface CheckProgress {
  startedAt: number;
  /** When the last complete check ended; less than `startedAt` while a check runs. */
  endedAt: number;
  /** The last file and volume checked; all before them have been checked too. */
  seq: number;
  idx: number;
  /** The number of the newest file when the check started. */
  endSeq: number;
  files: number;
  volumes: number;
  bytes: number;
  faults: number;
}

/** A volume that was missing or damaged when the scrub last read it. */
export interface VolumeFaultRow {
  file_id: string;
  idx: number;
  fault: string;
  found_at: number;
}

export type CheckName = 'scrub' | 'fsck';

const NEVER: CheckProgress = {
  ...{ startedAt: 0, endedAt: 0, seq: 0, idx: 0, endSeq: 0 },
  ...{ files: 0, volumes: 0, bytes: 0, faults: 0 },
};

export const isFinished = ({ startedAt, endedAt }: Pick<CheckProgress, 'startedAt' | 'endedAt'>) =>
  endedAt >= startedAt;

/** The progress of checks, so that any node can continue one, and the faults they found. */
export class ChecksTable extends Queries {
  async progress(name: CheckName): Promise<CheckProgress> {
    const text = `SELECT started_at AS "startedAt", ended_at AS "endedAt", last_seq AS seq, last_idx AS idx,
        end_seq AS "endSeq", files, volumes, bytes, faults FROM volume_checks WHERE name = ?`;
    const [row] = await this.sql.query<CheckProgress>(text, name);
    return row ?? NEVER;
  }

  /** Starts with the first file and discards an unfinished check. */
  async start(name: CheckName, now: number): Promise<CheckProgress> {
    const text = `INSERT INTO volume_checks (name, started_at, ended_at, last_seq, last_idx, end_seq,
        files, volumes, bytes, faults)
      SELECT CAST(? AS TEXT), CAST(? AS BIGINT), 0, 0, 0, COALESCE(MAX(seq), 0), 0, 0, 0, 0 FROM files WHERE true
      ON CONFLICT (name) DO UPDATE SET started_at = excluded.started_at, last_seq = 0, last_idx = 0,
        end_seq = excluded.end_seq, files = 0, volumes = 0, bytes = 0, faults = 0`;
    await this.sql.execute(text, name, now);
    return this.progress(name);
  }

  /** Stores the progress. Returns false and stores nothing if another process has advanced the check from `before`. */
  async save(name: CheckName, before: CheckProgress, now: CheckProgress): Promise<boolean> {
    const rows = await this.sql.execute(
      `UPDATE volume_checks SET ended_at = ?, last_seq = ?, last_idx = ?, files = ?, volumes = ?, bytes = ?, faults = ?
       WHERE name = ? AND started_at = ? AND ended_at = ? AND last_seq = ? AND last_idx = ? RETURNING name`,
      ...[now.endedAt, now.seq, now.idx, now.files, now.volumes, now.bytes, now.faults],
      ...[name, before.startedAt, before.endedAt, before.seq, before.idx],
    );
    return rows.length === 1;
  }

  faultCount(): Promise<number> {
    return countUpToLimit(this.sql, 'volume_faults');
  }

  faults(limit: number): Promise<VolumeFaultRow[]> {
    const text = 'SELECT file_id, idx, fault, found_at FROM volume_faults ORDER BY file_id, idx LIMIT ?';
    return this.sql.query<VolumeFaultRow>(text, limit);
  }

  async addFault({ file_id, idx, fault, found_at }: VolumeFaultRow): Promise<void> {
    const text = `INSERT INTO volume_faults (file_id, idx, fault, found_at) VALUES (?, ?, ?, ?)
      ON CONFLICT (file_id, idx) DO UPDATE SET fault = excluded.fault, found_at = excluded.found_at`;
    await this.sql.execute(text, file_id, idx, fault, found_at);
  }

  async removeFault(fileId: string, idx: number): Promise<void> {
    await this.sql.execute('DELETE FROM volume_faults WHERE file_id = ? AND idx = ?', fileId, idx);
  }

  /** Removes the faults of deleted files. */
  async expireFaults(): Promise<void> {
    const text = `DELETE FROM volume_faults
      WHERE NOT EXISTS (SELECT 1 FROM files f WHERE f.file_id = volume_faults.file_id)`;
    await this.sql.execute(text);
  }
}
