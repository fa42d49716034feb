/** Compares the sums kept by quota.ts with the files, and repairs them. */
import type { Sql } from '../platform/sql/sql.ts';
import { ADD_TO_USAGE, ALL_DIRS, EXTRA, HALF, INSERT_USAGE, SUMS, TRASH } from './quota.ts';

const COLUMNS = ['owner', 'dir_id', ...SUMS].join(', ');
const COUNTED = 'CASE WHEN size > stored_size THEN size ELSE stored_size END';
const recountDirs = (where: string) => `SELECT owner, dir_id, COUNT(*) AS files,
  SUM(size / ${HALF}) AS bytes_high, SUM(size % ${HALF}) AS bytes_low,
  SUM((${COUNTED}) / ${HALF}) AS counted_high, SUM((${COUNTED}) % ${HALF}) AS counted_low, SUM(extra_bytes) AS extra_bytes
  FROM (SELECT owner, CASE WHEN trashed_at > 0 THEN ${TRASH} ELSE dir_id END AS dir_id, size, stored_size, ${EXTRA} AS extra_bytes
    FROM files WHERE ${where}) AS placed GROUP BY owner, dir_id`;
/** Adds a row with the sums over all directories of an owner; only this row has `extra_bytes`. */
const recount = (where: string) => `WITH own AS (${recountDirs(where)})
  SELECT owner, dir_id, ${SUMS.map((name) => (name === 'extra_bytes' ? '0 AS extra_bytes' : name)).join(', ')} FROM own
  UNION ALL SELECT owner, ${ALL_DIRS}, ${SUMS.map((name) => `SUM(${name})`).join(', ')} FROM own GROUP BY owner`;

const OWNERS_AT_ONCE = 200;
/** One page of the owners that have files or sums, found through the indexes. */
const OWNERS = `SELECT owner FROM (
    SELECT owner FROM (SELECT DISTINCT owner FROM usage WHERE owner > ? ORDER BY owner LIMIT ?) AS kept
    UNION SELECT owner FROM (SELECT DISTINCT owner FROM files WHERE owner > ? ORDER BY owner LIMIT ?) AS real
  ) AS found ORDER BY owner LIMIT ?`;
const RANGE = 'owner >= ? AND owner <= ?';
const differs = (name: string) => `SUM(${name}_high) * ${HALF} + SUM(${name}_low) <> 0`;
const WRONG = `SELECT DISTINCT owner FROM (
    SELECT owner, dir_id FROM (
      SELECT ${COLUMNS} FROM usage WHERE ${RANGE}
      UNION ALL SELECT owner, dir_id, ${SUMS.map((name) => `-${name}`).join(', ')}
        FROM (${recount(RANGE)}) AS recounted
    ) AS both_sides GROUP BY owner, dir_id
    HAVING SUM(files) <> 0 OR SUM(extra_bytes) <> 0 OR ${differs('bytes')} OR ${differs('counted')}
  ) AS wrong ORDER BY owner`;

/**
 * Yields owners whose sums differ from their files. Reads a page of owners at a time to bound memory, and compares each page
 * in one statement, so that a concurrent change counts on both sides or on neither.
 */
export async function* findWrongUsage(sql: Sql): AsyncGenerator<string> {
  const page = (after: string) =>
    sql.query<{ owner: string }>(OWNERS, after, OWNERS_AT_ONCE, after, OWNERS_AT_ONCE, OWNERS_AT_ONCE);
  // Files without an owner sort before every owner that `page` finds.
  const [nobody] = await sql.query<{ owner: string }>(WRONG, '', '', '', '');
  if (nobody) yield nobody.owner;
  for (let owners = await page(''); owners.length > 0; owners = await page(owners.at(-1)!.owner)) {
    const range = [owners[0]!.owner, owners.at(-1)!.owner];
    for (const { owner } of await sql.query<{ owner: string }>(WRONG, ...range, ...range)) yield owner;
  }
}

/** Recomputes an owner's sums. Locks their rows first, so that concurrent changes happen entirely before or after. */
export function repairUsage(sql: Sql, owner: string): Promise<void> {
  return sql.transaction(async (tx) => {
    // The row of all directories stays, to keep its `rev`.
    const zeros = SUMS.map((name) => `${name} = 0`).join(', ');
    const text = `UPDATE usage SET ${zeros}, rev = rev + 1 WHERE owner = ? AND dir_id = ${ALL_DIRS}`;
    await tx.execute(text, owner);
    await tx.execute(`DELETE FROM usage WHERE owner = ? AND dir_id <> ${ALL_DIRS}`, owner);
    await tx.execute(
      `${INSERT_USAGE} SELECT ${COLUMNS}, 1 FROM (${recount('owner = ?')}) AS recounted WHERE true ${ADD_TO_USAGE}`,
      owner,
    );
  });
}
