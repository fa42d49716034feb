import { ADMIN } from '@szafa/protocol';
import type { Sql } from './sql.ts';

/** What a directory has, or all of an owner's together. */
export interface Sums {
  files: number;
  bytes: number;
  counted: number;
}

/** Bytes are summed in two halves: one 64-bit sum overflows with a thousand files of the largest size. */
const HALF = 2 ** 32;

function halves(value: number): [high: number, low: number] {
  const high = Math.trunc(value / HALF);
  return [high, value - high * HALF];
}

/** Halves can pass what a JavaScript number holds exactly, so they travel as text. */
export const joined = (high: string, low: string) => BigInt(high) * BigInt(HALF) + BigInt(low);

/** Stands for all directories of an owner together: quota reads one row, however many there are. */
export const ALL_DIRS = -1;

const COLUMNS = 'owner, dir_id, files, bytes_high, bytes_low, counted_high, counted_low';
const ADD = `ON CONFLICT (owner, dir_id) DO UPDATE SET files = usage.files + excluded.files,
  bytes_high = usage.bytes_high + excluded.bytes_high, bytes_low = usage.bytes_low + excluded.bytes_low,
  counted_high = usage.counted_high + excluded.counted_high,
  counted_low = usage.counted_low + excluded.counted_low`;

/** Adds to the sums; part of the transaction that changes the files themselves. */
export function addUsage(tx: Sql, owner: string, dirId: number, sums: Sums): Promise<void> {
  return addTo(tx, owner, [
    [ALL_DIRS, sums],
    [dirId, sums],
  ]);
}

export async function moveUsage(
  tx: Sql,
  owner: string,
  [from, to]: [from: number, to: number],
  sums: Sums,
): Promise<void> {
  if (from === to) return;
  const taken = { files: -sums.files, bytes: -sums.bytes, counted: -sums.counted };
  await addTo(tx, owner, [
    [from, taken],
    [to, sums],
  ]);
}

/** In the order of their numbers, so that two who change the same rows wait for each other in one direction only. */
async function addTo(tx: Sql, owner: string, rows: [dirId: number, sums: Sums][]): Promise<void> {
  await tx.execute(
    `INSERT INTO usage (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?) ${ADD}`,
    ...rows
      .sort(([a], [b]) => a - b)
      .flatMap(([dirId, { files, bytes, counted }]) => [
        owner,
        dirId,
        files,
        ...halves(bytes),
        ...halves(counted),
      ]),
  );
}

/** Nobody else passes this for the same owner until the transaction ends. */
export function holdUsage(tx: Sql, owner: string): Promise<void> {
  return addUsage(tx, owner, 0, { files: 0, bytes: 0, counted: 0 });
}

/** The sums of a directory that is no more go to the root. */
export async function moveUsageToRoot(tx: Sql, dirId: number): Promise<void> {
  await tx.execute(
    `INSERT INTO usage (${COLUMNS})
     SELECT owner, 0, files, bytes_high, bytes_low, counted_high, counted_low FROM usage WHERE dir_id = ? ${ADD}`,
    dirId,
  );
  await tx.execute('DELETE FROM usage WHERE dir_id = ?', dirId);
}

const sum = (column: string) => `CAST(COALESCE(SUM(${column}), 0) AS TEXT) AS ${column}`;
const SUMS = `SELECT ${['bytes_high', 'bytes_low', 'counted_high', 'counted_low'].map(sum).join(', ')}
  FROM usage WHERE dir_id = ${ALL_DIRS}`;
/** What `usageOf` is for one owner, as a join that costs one look at a key. */
export const JOIN_USAGE = (owner: string) =>
  `LEFT JOIN usage u ON u.owner = ${owner} AND u.dir_id = ${ALL_DIRS}`;

interface SumsRow {
  bytes_high: string;
  bytes_low: string;
  counted_high: string;
  counted_low: string;
}

/** "The system administrator identity sees only files that belong to the administrator or that have no owner." */
export async function usageOf(sql: Sql, caller: string): Promise<{ bytes: bigint; counted: bigint }> {
  const [row] =
    caller === ADMIN
      ? await sql.query<SumsRow>(`${SUMS} AND owner IN ('${ADMIN}', '')`)
      : await sql.query<SumsRow>(`${SUMS} AND owner = ?`, caller);
  return {
    bytes: joined(row!.bytes_high, row!.bytes_low),
    counted: joined(row!.counted_high, row!.counted_low),
  };
}

const counted = 'CASE WHEN size > stored_size THEN size ELSE stored_size END';
/** The sums as they should be, in the columns of `usage`. */
const recount = (
  dir: 'dir_id' | typeof ALL_DIRS,
  where = '',
) => `SELECT owner, ${dir} AS dir_id, COUNT(*) AS files,
  SUM(size / ${HALF}) AS bytes_high, SUM(size % ${HALF}) AS bytes_low,
  SUM((${counted}) / ${HALF}) AS counted_high, SUM((${counted}) % ${HALF}) AS counted_low
  FROM files ${where} GROUP BY owner${dir === ALL_DIRS ? '' : ', dir_id'}`;

/** Owners whose kept sums differ from those over their files. One statement, so that a change counts in both or in none. */
export async function wrongUsage(sql: Sql): Promise<string[]> {
  const text = (column: string) => `CAST(${column} AS TEXT) AS ${column}`;
  const columns = `owner, dir_id, files, ${['bytes_high', 'bytes_low', 'counted_high', 'counted_low'].map(text).join(', ')}`;
  const rows = await sql.query<SumsRow & { kind: string; owner: string; dir_id: number; files: number }>(
    `SELECT 'kept' AS kind, ${columns} FROM usage
     UNION ALL SELECT 'real' AS kind, ${columns}
       FROM (${recount('dir_id')} UNION ALL ${recount(ALL_DIRS)}) AS recounted`,
  );
  const sums = new Map<string, { owner: string; difference: [bigint, bigint, number] }>();
  for (const row of rows) {
    const key = JSON.stringify([row.owner, row.dir_id]);
    const entry = sums.get(key) ?? { owner: row.owner, difference: [0n, 0n, 0] };
    const sign = row.kind === 'kept' ? 1 : -1;
    entry.difference[0] += BigInt(sign) * joined(row.bytes_high, row.bytes_low);
    entry.difference[1] += BigInt(sign) * joined(row.counted_high, row.counted_low);
    entry.difference[2] += sign * row.files;
    sums.set(key, entry);
  }
  const wrong = [...sums.values()].filter(({ difference }) => difference.some((one) => Number(one) !== 0));
  return [...new Set(wrong.map(({ owner }) => owner))];
}

/** Counts an owner's sums anew. Whoever changes files meanwhile waits at the rows, or comes before. */
export function mendUsage(sql: Sql, owner: string): Promise<void> {
  return sql.transaction(async (tx) => {
    await tx.execute('DELETE FROM usage WHERE owner = ?', owner);
    for (const dir of ['dir_id', ALL_DIRS] as const) {
      await tx.execute(`INSERT INTO usage (${COLUMNS}) ${recount(dir, 'WHERE owner = ?')}`, owner);
    }
  });
}
