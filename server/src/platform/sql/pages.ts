import { setImmediate } from 'node:timers/promises';

const PAGE = 500;

/**
 * Reads a list in pages and lets other requests run in between, because SQLite reads a page synchronously. `keyOf` is the
 * cursor of a row.
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
