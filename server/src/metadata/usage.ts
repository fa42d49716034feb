import { ADMIN } from '@szafa/protocol';
import { type Lookup, SESSION, SESSIONS, type SessionRow, sessionOf } from './lookup.ts';
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

/** The sums without these files of the owner, however many. */
export async function takeUsage(
  tx: Sql,
  owner: string,
  files: { dir_id: number; size: number; stored_size: number }[],
): Promise<void> {
  const sums = new Map<number, number[]>();
  for (const { dir_id, size, stored_size } of files) {
    // Half by half: together they can pass what a number holds exactly.
    const taken = [1, ...halves(size), ...halves(Math.max(size, stored_size))];
    for (const dirId of [ALL_DIRS, dir_id]) {
      const sum = sums.get(dirId) ?? [0, 0, 0, 0, 0];
      sums.set(
        dirId,
        sum.map((value, at) => value - taken[at]!),
      );
    }
  }
  for (const [dirId, sum] of [...sums].sort(([a], [b]) => a - b)) {
    await tx.execute(
      `INSERT INTO usage (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?) ${ADD}`,
      ...[owner, dirId, ...sum],
    );
  }
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

/** The totals of a deleted directory go to the root. */
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
type SumsRow = Record<'bytes_high' | 'bytes_low' | 'counted_high' | 'counted_low', string>;

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

/** For `Accounts.identify`: how many bytes the caller's files have, and a quota of their own. One look at a key. */
export function lookUpUsage(sql: Sql): Lookup<{ bytes: bigint; quota: number | null }> {
  return {
    admin: async () => ({ bytes: (await usageOf(sql, ADMIN)).bytes, quota: null }),
    session: async (tokenHash) => {
      type Row = SessionRow & { quota_bytes: number | null; high: string | null; low: string | null };
      const [row] = await sql.query<Row>(
        `SELECT ${SESSION}, c.quota_bytes,
           CAST(u.bytes_high AS TEXT) AS high, CAST(u.bytes_low AS TEXT) AS low
         FROM ${SESSIONS} LEFT JOIN usage u ON u.owner = s.username AND u.dir_id = ${ALL_DIRS}
         WHERE s.token_hash = ?`,
        tokenHash,
      );
      if (!row) return undefined;
      const bytes = joined(row.high ?? '0', row.low ?? '0');
      return { ...sessionOf(row), bytes, quota: row.quota_bytes };
    },
  };
}

const counted = 'CASE WHEN size > stored_size THEN size ELSE stored_size END';
/** The sums as they should be, by owner and directory, in the columns of `usage`. */
const recount = (where: string) => `SELECT owner, dir_id, COUNT(*) AS files,
  SUM(size / ${HALF}) AS bytes_high, SUM(size % ${HALF}) AS bytes_low,
  SUM((${counted}) / ${HALF}) AS counted_high, SUM((${counted}) % ${HALF}) AS counted_low
  FROM files WHERE ${where} GROUP BY owner, dir_id`;
const HALVES = ['files', 'bytes_high', 'bytes_low', 'counted_high', 'counted_low'];
/** With those over all directories of an owner. */
const recountAll = (where: string) => `WITH own AS (${recount(where)})
  SELECT owner, dir_id, ${HALVES.join(', ')} FROM own
  UNION ALL SELECT owner, ${ALL_DIRS}, ${HALVES.map((name) => `SUM(${name})`).join(', ')} FROM own GROUP BY owner`;

const OWNERS_AT_ONCE = 200;
/** Whoever has files, or sums; a page of them is found by two looks at a key. */
const OWNERS = `SELECT owner FROM (
    SELECT owner FROM (SELECT DISTINCT owner FROM usage WHERE owner > ? ORDER BY owner LIMIT ?) AS kept
    UNION SELECT owner FROM (SELECT DISTINCT owner FROM files WHERE owner > ? ORDER BY owner LIMIT ?) AS real
  ) AS found ORDER BY owner LIMIT ?`;
const RANGE = 'owner >= ? AND owner <= ?';
const differs = (name: string) => `SUM(${name}_high) * ${HALF} + SUM(${name}_low) <> 0`;
const WRONG = `SELECT DISTINCT owner FROM (
    SELECT owner, dir_id FROM (
      SELECT ${COLUMNS} FROM usage WHERE ${RANGE}
      UNION ALL SELECT owner, dir_id, ${HALVES.map((name) => `-${name}`).join(', ')}
        FROM (${recountAll(RANGE)}) AS recounted
    ) AS both_sides GROUP BY owner, dir_id
    HAVING SUM(files) <> 0 OR ${differs('bytes')} OR ${differs('counted')}
  ) AS wrong ORDER BY owner`;

/**
 * Owners whose kept sums differ from those over their files, a page of owners at a time, added up by the database: neither
 * it nor we ever hold all of them. One statement for a page, so that a change counts in both or in none.
 */
export async function* wrongUsage(sql: Sql): AsyncGenerator<string> {
  const page = (after: string) =>
    sql.query<{ owner: string }>(OWNERS, after, OWNERS_AT_ONCE, after, OWNERS_AT_ONCE, OWNERS_AT_ONCE);
  // Nothing is less than the owner of files that have none.
  const [nobody] = await sql.query<{ owner: string }>(WRONG, '', '', '', '');
  if (nobody) yield nobody.owner;
  for (let owners = await page(''); owners.length > 0; owners = await page(owners.at(-1)!.owner)) {
    const range = [owners[0]!.owner, owners.at(-1)!.owner];
    for (const { owner } of await sql.query<{ owner: string }>(WRONG, ...range, ...range)) yield owner;
  }
}

/** Recomputes an owner's totals. A change to files meanwhile waits for the rows, or comes before. */
export function mendUsage(sql: Sql, owner: string): Promise<void> {
  return sql.transaction(async (tx) => {
    await tx.execute('DELETE FROM usage WHERE owner = ?', owner);
    await tx.execute(`INSERT INTO usage (${COLUMNS}) ${recountAll('owner = ?')}`, owner);
  });
}
