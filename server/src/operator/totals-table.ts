import { ALL_DIRS, joinHalves, TRASH } from '../files/quota.ts';
import { Queries } from '../platform/sql/sql.ts';

/** Sums over all accounts. */
export interface Totals {
  accounts: number;
  files: number;
  bytes: bigint;
  /** The part of `bytes` in the trash. */
  trashBytes: bigint;
}

/** One page of a count. */
export interface TotalsPage {
  rows: number;
  /** The next page begins after this name. */
  last: string;
}

/**
 * Sums over all accounts, in one row. Uploads do not change it, because they would wait for each other: the sweeper counts
 * again and again, page by page.
 */
export class TotalsTable extends Queries {
  async get(): Promise<Totals> {
    const [row] = await this.sql.query<{
      accounts: number;
      files: number;
      bytes: string;
      trash_bytes: string;
    }>('SELECT accounts, files, bytes, trash_bytes FROM totals');
    const { accounts, files, bytes, trash_bytes } = row!;
    return { accounts, files, bytes: BigInt(bytes), trashBytes: BigInt(trash_bytes) };
  }

  async set({ accounts, files, bytes, trashBytes }: Totals): Promise<void> {
    const text = 'UPDATE totals SET accounts = ?, files = ?, bytes = ?, trash_bytes = ?';
    await this.sql.execute(text, accounts, files, String(bytes), String(trashBytes));
  }

  async accountsAfter(username: string, limit: number): Promise<TotalsPage> {
    const text = `SELECT COUNT(*) AS rows, MAX(username) AS last FROM
        (SELECT username FROM accounts WHERE username > ? ORDER BY username LIMIT ?) AS page`;
    const [row] = await this.sql.query<{ rows: number; last: string | null }>(text, username, limit);
    return { rows: row!.rows, last: row!.last ?? '' };
  }

  /** Sums a page of accounts: all their files, or their trash. `owner` undefined: from the beginning. */
  async usageAfter(
    what: 'all' | 'trash',
    owner: string | undefined,
    limit: number,
  ): Promise<TotalsPage & Pick<Totals, 'files' | 'bytes'>> {
    const dirId = what === 'all' ? ALL_DIRS : TRASH;
    const after = owner === undefined ? '' : 'AND owner > ?';
    const select = `SELECT COUNT(*) AS rows, MAX(owner) AS last, CAST(COALESCE(SUM(files), 0) AS BIGINT) AS files,
        CAST(COALESCE(SUM(counted_high), 0) AS TEXT) AS high, CAST(COALESCE(SUM(counted_low), 0) AS TEXT) AS low
      FROM (SELECT owner, files, counted_high, counted_low FROM usage WHERE dir_id = ${dirId} ${after}
        ORDER BY owner LIMIT ?) AS page`;
    const [row] = await this.sql.query<UsageRow>(select, ...(owner === undefined ? [] : [owner]), limit);
    const { rows, last, files, high, low } = row!;
    return { rows, last: last ?? '', files, bytes: joinHalves(high, low) };
  }
}

interface UsageRow {
  rows: number;
  last: string | null;
  files: number;
  high: string;
  low: string;
}
