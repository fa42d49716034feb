import { ADMIN } from '@szafa/protocol';
import { type Lookup, SESSION, SESSIONS, type SessionRow, sessionOf } from '../accounts/account-rows.ts';
import type { Sql } from '../platform/sql/sql.ts';
import { parseEntry } from '../transfers/volumes-table.ts';

/** What a directory has, or all of an owner's together. */
export interface Sums {
  files: number;
  bytes: number;
  counted: number;
  /** See `extraOf`; kept only for all directories together. */
  extra?: number;
}

/** Bytes that a file has beside its volumes: enc_params and the thumbnail. No quota counts them; owners have an allowance for them. */
export const extraOf = (file: { enc_params: string; thumbnail: string | null }) =>
  Buffer.byteLength(file.enc_params) + (parseEntry(file.thumbnail, 0)?.size ?? 0);
/** The same in SQL: the entry of a thumbnail is a digest of 64 digits, then the size. */
export const EXTRA = 'OCTET_LENGTH(enc_params) + COALESCE(CAST(SUBSTR(thumbnail, 65) AS BIGINT), 0)';

/** Bytes are summed in two halves: one 64-bit sum overflows with a thousand files of the largest size. */
const HALF = 2 ** 32;

function halves(value: number): [high: number, low: number] {
  const high = Math.trunc(value / HALF);
  return [high, value - high * HALF];
}

/** Halves can pass what a JavaScript number holds exactly, so they travel as text. */
export const joined = (high: string, low: string) => BigInt(high) * BigInt(HALF) + BigInt(low);

/** Stands for all that an owner has: quota reads one row, however many directories there are. Its `rev` rises with every change. */
export const ALL_DIRS = -1;
/** Stands for an owner's trash: what is there counts in all, and in no directory. */
export const TRASH = -2;

/** Under which directory a file is counted. */
export const countedIn = ({ dir_id, trashed_at }: { dir_id: number; trashed_at: number }) =>
  trashed_at > 0 ? TRASH : dir_id;

const HALVES = ['files', 'bytes_high', 'bytes_low', 'counted_high', 'counted_low', 'extra_bytes'];
const SUMMED = ['owner', 'dir_id', ...HALVES].join(', ');
export const USAGE_COLUMNS = ['owner', 'dir_id', ...HALVES, 'rev'];
const COLUMNS = USAGE_COLUMNS.join(', ');
const ROW = `(${USAGE_COLUMNS.map(() => '?').join(', ')})`;
const ADD = `ON CONFLICT (owner, dir_id) DO UPDATE SET
  ${[...HALVES, 'rev'].map((name) => `${name} = usage.${name} + excluded.${name}`).join(', ')}`;

/** What is added to a row; half by half, since together they can pass what a number holds exactly. */
type Parts = number[];
const NOTHING: Parts = HALVES.map(() => 0);
const partsOf = ({ files, bytes, counted }: Omit<Sums, 'extra'>, extra = 0): Parts => [
  files,
  ...halves(bytes),
  ...halves(counted),
  extra,
];
const minus = (parts: Parts): Parts => parts.map((part) => -part);

/** What is added to the rows of one owner. */
class Changes extends Map<number, Parts> {
  add(dirId: number, parts: Parts): void {
    const sum = this.get(dirId) ?? NOTHING;
    this.set(
      dirId,
      sum.map((value, at) => value + parts[at]!),
    );
  }
}

/** Adds to the sums; part of the transaction that changes the files themselves. */
export async function addUsage(tx: Sql, owner: string, dirId: number, sums: Sums): Promise<void> {
  const changes = new Changes();
  changes.add(ALL_DIRS, partsOf(sums, sums.extra));
  changes.add(dirId, partsOf(sums));
  await addTo(tx, owner, changes);
}

export async function moveUsage(
  tx: Sql,
  owner: string,
  [from, to]: [from: number, to: number],
  sums: Omit<Sums, 'extra'>,
): Promise<void> {
  const changes = new Changes([[ALL_DIRS, NOTHING]]);
  changes.add(from, minus(partsOf(sums)));
  changes.add(to, partsOf(sums));
  await addTo(tx, owner, changes);
}

/** A file that is counted elsewhere from now on, or not any more. */
export interface Shift {
  owner: string;
  size: number;
  stored_size: number;
  extra: number;
  from: number;
  to: number | 'nowhere';
}

/** The same for files of one caller, however many. */
export async function shiftUsage(tx: Sql, shifts: Shift[]): Promise<void> {
  const byOwner = new Map<string, Changes>();
  for (const { owner, size, stored_size, extra, from, to } of shifts) {
    const changes = byOwner.get(owner) ?? new Changes([[ALL_DIRS, NOTHING]]);
    byOwner.set(owner, changes);
    const sums = { files: 1, bytes: size, counted: Math.max(size, stored_size) };
    const parts = partsOf(sums);
    changes.add(from, minus(parts));
    if (to === 'nowhere') changes.add(ALL_DIRS, minus(partsOf(sums, extra)));
    else changes.add(to, parts);
  }
  for (const [owner, changes] of [...byOwner].sort(([a], [b]) => (a < b ? -1 : 1))) {
    await addTo(tx, owner, changes);
  }
}

/** Rows that one statement adds to; so there are only so many statements. */
const ROWS_AT_ONCE = 3;

/**
 * In the order of their numbers, so that two who change the same rows wait for each other in one direction only. `rev`: by how
 * much that of all directories rises.
 */
async function addTo(tx: Sql, owner: string, changes: Changes, rev = 1): Promise<void> {
  const rows = [...changes].sort(([a], [b]) => a - b);
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
    const some = rows.slice(at, at + ROWS_AT_ONCE);
    const values = some.map(() => ROW).join(', ');
    await tx.execute(
      `INSERT INTO usage (${COLUMNS}) VALUES ${values} ${ADD}`,
      ...some.flatMap(([dirId, parts]) => [owner, dirId, ...parts, dirId === ALL_DIRS ? rev : 0]),
    );
  }
}

/** A file has other enc_params, or another thumbnail; by how many bytes that is more. */
export function growExtra(tx: Sql, owner: string, bytes: number): Promise<void> {
  const none = { files: 0, bytes: 0, counted: 0 };
  return addTo(tx, owner, new Changes([[ALL_DIRS, partsOf(none, bytes)]]));
}

/** Something that is in no sum has changed: a name, or a directory. */
export function noteChange(tx: Sql, owner: string): Promise<void> {
  return addTo(tx, owner, new Changes([[ALL_DIRS, NOTHING]]));
}

/** Nobody else passes this for the same owner until the transaction ends. */
export function holdUsage(tx: Sql, owner: string): Promise<void> {
  return addTo(tx, owner, new Changes([[ALL_DIRS, NOTHING]]), 0);
}

/** The totals of a deleted directory go to the root; whoever has files in it sees a change. */
export async function moveUsageToRoot(tx: Sql, dirId: number): Promise<void> {
  await tx.execute(
    `INSERT INTO usage (${COLUMNS})
     SELECT owner, ${ALL_DIRS}, ${NOTHING.join(', ')}, 1 FROM usage WHERE dir_id = ? ORDER BY owner ${ADD}`,
    dirId,
  );
  await tx.execute(
    `INSERT INTO usage (${COLUMNS})
     SELECT owner, 0, ${HALVES.join(', ')}, 0 FROM usage WHERE dir_id = ? ORDER BY owner ${ADD}`,
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

/** What an account has. */
export interface Holdings {
  bytes: bigint;
  /** One of its own. */
  quota: number | null;
  /** Another one after every change of its files and directories. */
  rev: number;
}

/** For `Sessions.identify`: one look at a key. */
export function lookUpUsage(sql: Sql): Lookup<Holdings> {
  return {
    admin: async () => {
      const [{ bytes }, rev] = await Promise.all([usageOf(sql, ADMIN), adminRev(sql)]);
      return { bytes, quota: null, rev };
    },
    session: async (tokenHash) => {
      type Sums = { high: string | null; low: string | null; rev: number | null };
      const [row] = await sql.query<SessionRow & Sums & { quota_bytes: number | null }>(
        `SELECT ${SESSION}, c.quota_bytes, u.rev,
           CAST(u.bytes_high AS TEXT) AS high, CAST(u.bytes_low AS TEXT) AS low
         FROM ${SESSIONS} LEFT JOIN usage u ON u.owner = s.username AND u.dir_id = ${ALL_DIRS}
         WHERE s.token_hash = ?`,
        tokenHash,
      );
      if (!row) return undefined;
      const bytes = joined(row.high ?? '0', row.low ?? '0');
      return { ...sessionOf(row), bytes, quota: row.quota_bytes, rev: row.rev ?? 0 };
    },
  };
}

async function adminRev(sql: Sql): Promise<number> {
  const [row] = await sql.query<{ rev: number }>(
    `SELECT CAST(COALESCE(SUM(rev), 0) AS BIGINT) AS rev
     FROM usage WHERE dir_id = ${ALL_DIRS} AND owner IN ('${ADMIN}', '')`,
  );
  return row!.rev;
}

const counted = 'CASE WHEN size > stored_size THEN size ELSE stored_size END';
/** The sums as they should be, by owner and directory. */
const recount = (where: string) => `SELECT owner, dir_id, COUNT(*) AS files,
  SUM(size / ${HALF}) AS bytes_high, SUM(size % ${HALF}) AS bytes_low,
  SUM((${counted}) / ${HALF}) AS counted_high, SUM((${counted}) % ${HALF}) AS counted_low, SUM(extra_bytes) AS extra_bytes
  FROM (SELECT owner, CASE WHEN trashed_at > 0 THEN ${TRASH} ELSE dir_id END AS dir_id, size, stored_size, ${EXTRA} AS extra_bytes
    FROM files WHERE ${where}) AS placed GROUP BY owner, dir_id`;
/** With those over all directories of an owner. */
const recountAll = (where: string) => `WITH own AS (${recount(where)})
  SELECT owner, dir_id, ${HALVES.map((name) => (name === 'extra_bytes' ? '0 AS extra_bytes' : name)).join(', ')} FROM own
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
      SELECT ${SUMMED} FROM usage WHERE ${RANGE}
      UNION ALL SELECT owner, dir_id, ${HALVES.map((name) => `-${name}`).join(', ')}
        FROM (${recountAll(RANGE)}) AS recounted
    ) AS both_sides GROUP BY owner, dir_id
    HAVING SUM(files) <> 0 OR SUM(extra_bytes) <> 0 OR ${differs('bytes')} OR ${differs('counted')}
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
    // The first row stays, for its `rev`.
    const zeros = HALVES.map((name) => `${name} = 0`).join(', ');
    await tx.execute(
      `UPDATE usage SET ${zeros}, rev = rev + 1 WHERE owner = ? AND dir_id = ${ALL_DIRS}`,
      owner,
    );
    await tx.execute(`DELETE FROM usage WHERE owner = ? AND dir_id <> ${ALL_DIRS}`, owner);
    await tx.execute(
      `INSERT INTO usage (${COLUMNS})
       SELECT ${SUMMED}, 1 FROM (${recountAll('owner = ?')}) AS recounted WHERE true ${ADD}`,
      owner,
    );
  });
}
