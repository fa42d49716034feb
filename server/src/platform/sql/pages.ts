import { setImmediate } from 'node:timers/promises';

const PAGE = 500;

/**
 * Reads a list page by page and serves other requests in between: SQLite reads a page in one synchronous step. `keyOf` is the
 * key of a row, by which the next page continues after it.
 */
export async function readPages<Row, Key>(
  page: (after: Key, limit: number) => Promise<Row[]>,
  first: Key,
  keyOf: (row: Row) => Key,
): Promise<Row[]> {
  const all: Row[] = [];
  for (let rows = await page(first, PAGE); rows.length > 0; ) {
    for (const row of rows) all.push(row);
    if (rows.length < PAGE) break;
    await setImmediate();
    rows = await page(keyOf(rows.at(-1)!), PAGE);
  }
  return all;
}
