import { ADMIN } from '@szafa/protocol';
import type { Sql } from './sql.ts';

export interface UsageChange {
  owner: string;
  dirId: number;
  files: number;
  bytes: number;
  counted: number;
}

const ADD = `ON CONFLICT (owner, dir_id) DO UPDATE SET files = usage.files + excluded.files,
  bytes = usage.bytes + excluded.bytes, counted = usage.counted + excluded.counted`;

/** Adds to the sums; part of the transaction that changes the files themselves. */
export async function addUsage(tx: Sql, change: UsageChange): Promise<void> {
  await tx.execute(
    `INSERT INTO usage (owner, dir_id, files, bytes, counted) VALUES (?, ?, ?, ?, ?) ${ADD}`,
    change.owner,
    change.dirId,
    change.files,
    change.bytes,
    change.counted,
  );
}

/** The sums of a directory that is no more go to the root. */
export async function moveUsageToRoot(tx: Sql, dirId: number): Promise<void> {
  await tx.execute(
    `INSERT INTO usage (owner, dir_id, files, bytes, counted)
     SELECT owner, 0, files, bytes, counted FROM usage WHERE dir_id = ? ${ADD}`,
    dirId,
  );
  await tx.execute('DELETE FROM usage WHERE dir_id = ?', dirId);
}

/** Sums can pass what a JavaScript number holds exactly, so they travel as text. */
const SUMS = `SELECT CAST(COALESCE(SUM(bytes), 0) AS TEXT) AS bytes,
  CAST(COALESCE(SUM(counted), 0) AS TEXT) AS counted FROM usage`;

/** "The system administrator identity sees only files that belong to the administrator or that have no owner." */
export async function usageOf(sql: Sql, caller: string): Promise<{ bytes: bigint; counted: bigint }> {
  const [row] =
    caller === ADMIN
      ? await sql.query<{ bytes: string; counted: string }>(`${SUMS} WHERE owner IN ('${ADMIN}', '')`)
      : await sql.query<{ bytes: string; counted: string }>(`${SUMS} WHERE owner = ?`, caller);
  return { bytes: BigInt(row!.bytes), counted: BigInt(row!.counted) };
}
