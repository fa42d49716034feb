import { countSome, Queries } from '../platform/sql/sql.ts';

/** A look at every volume of every file, in the order of the files' numbers. */
export interface CheckRound {
  beganAt: number;
  /** Of the latest one that came to its end; less than `beganAt` while one is under way. */
  endedAt: number;
  /** The file that was looked at last, and its volume: all before them have been. */
  seq: number;
  idx: number;
  /** The newest file when it began. */
  untilSeq: number;
  files: number;
  volumes: number;
  bytes: number;
  faults: number;
}

/** A volume of a file that was not as it should be when the scrub last looked. */
export interface VolumeFaultRow {
  file_id: string;
  idx: number;
  fault: string;
  found_at: number;
}

export type CheckName = 'scrub' | 'fsck';

const NEVER: CheckRound = {
  ...{ beganAt: 0, endedAt: 0, seq: 0, idx: 0, untilSeq: 0 },
  ...{ files: 0, volumes: 0, bytes: 0, faults: 0 },
};

export const isOver = ({ beganAt, endedAt }: CheckRound) => endedAt >= beganAt;

/** How far checks of all volumes are, so that one goes on where it was, on any node. */
export class ChecksTable extends Queries {
  async round(name: CheckName): Promise<CheckRound> {
    const [row] = await this.sql.query<CheckRound>(
      `SELECT started_at AS "beganAt", ended_at AS "endedAt", last_seq AS seq, last_idx AS idx, end_seq AS "untilSeq",
         files, volumes, bytes, faults FROM volume_checks WHERE name = ?`,
      name,
    );
    return row ?? NEVER;
  }

  /** From the first file to the newest of now; one that is under way is given up. */
  async begin(name: CheckName, now: number): Promise<CheckRound> {
    await this.sql.execute(
      `INSERT INTO volume_checks (name, started_at, ended_at, last_seq, last_idx, end_seq, files, volumes, bytes, faults)
       SELECT CAST(? AS TEXT), CAST(? AS BIGINT), 0, 0, 0, COALESCE(MAX(seq), 0), 0, 0, 0, 0 FROM files WHERE true
       ON CONFLICT (name) DO UPDATE SET started_at = excluded.started_at, last_seq = 0, last_idx = 0,
         end_seq = excluded.end_seq, files = 0, volumes = 0, bytes = 0, faults = 0`,
      name,
      now,
    );
    return this.round(name);
  }

  /** False when somebody else has gone on from `before`: then there is nothing to keep. */
  async keep(name: CheckName, before: CheckRound, now: CheckRound): Promise<boolean> {
    const rows = await this.sql.execute(
      `UPDATE volume_checks SET ended_at = ?, last_seq = ?, last_idx = ?, files = ?, volumes = ?, bytes = ?, faults = ?
       WHERE name = ? AND started_at = ? AND ended_at = ? AND last_seq = ? AND last_idx = ? RETURNING name`,
      ...[now.endedAt, now.seq, now.idx, now.files, now.volumes, now.bytes, now.faults],
      ...[name, before.beganAt, before.endedAt, before.seq, before.idx],
    );
    return rows.length === 1;
  }

  faultCount(): Promise<number> {
    return countSome(this.sql, 'volume_faults');
  }

  faults(limit: number): Promise<VolumeFaultRow[]> {
    return this.sql.query<VolumeFaultRow>(
      'SELECT file_id, idx, fault, found_at FROM volume_faults ORDER BY file_id, idx LIMIT ?',
      limit,
    );
  }

  async noteFault({ file_id, idx, fault, found_at }: VolumeFaultRow): Promise<void> {
    await this.sql.execute(
      `INSERT INTO volume_faults (file_id, idx, fault, found_at) VALUES (?, ?, ?, ?)
       ON CONFLICT (file_id, idx) DO UPDATE SET fault = excluded.fault, found_at = excluded.found_at`,
      file_id,
      idx,
      fault,
      found_at,
    );
  }

  async forgetFault(fileId: string, idx: number): Promise<void> {
    await this.sql.execute('DELETE FROM volume_faults WHERE file_id = ? AND idx = ?', fileId, idx);
  }

  /** Those of files that are no more. */
  async expireFaults(): Promise<void> {
    await this.sql.execute(
      `DELETE FROM volume_faults
       WHERE NOT EXISTS (SELECT 1 FROM files f WHERE f.file_id = volume_faults.file_id)`,
    );
  }
}
