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

/**
 * Sums over all accounts, in one row. Uploads do not update it, because they would block each other; the sweeper recounts it
 * continuously, page by page.
 */
export class TotalsTable extends Queries {
  async get(): Promise<Totals> {
    const text = 'SELECT accounts, files, bytes, trash_bytes FROM totals';
    const [row] = await this.sql.query<Record<'bytes' | 'trash_bytes', string> & Totals>(text);
    const { accounts, files, bytes, trash_bytes } = row!;
    return { accounts, files, bytes: BigInt(bytes), trashBytes: BigInt(trash_bytes) };
  }

  async set({ accounts, files, bytes, trashBytes }: Totals): Promise<void> {
    const text = 'UPDATE totals SET accounts = ?, files = ?, bytes = ?, trash_bytes = ?';
    await this.sql.execute(text, accounts, files, String(bytes), String(trashBytes));
  }

  /** Counts a page of accounts; the next page begins after `last`. */
  async accountsAfter(username: string, limit: number) {
    const text = `SELECT COUNT(*) AS rows, MAX(username) AS last FROM
        (SELECT username FROM accounts WHERE username > ? ORDER BY username LIMIT ?) AS page`;
    const [row] = await this.sql.query<{ rows: number; last: string | null }>(text, username, limit);
    return row!;
  }

  /** Sums a page of accounts: all their files, or only their trash. An undefined `owner` starts from the beginning. */
  async usageAfter(what: 'usage' | 'trash', owner: string | undefined, limit: number) {
    const dirId = what === 'usage' ? ALL_DIRS : TRASH;
    const after = owner === undefined ? '' : 'AND owner > ?';
    const text = `SELECT COUNT(*) AS rows, MAX(owner) AS last, CAST(COALESCE(SUM(files), 0) AS BIGINT) AS files,
        CAST(COALESCE(SUM(counted_high), 0) AS TEXT) AS high, CAST(COALESCE(SUM(counted_low), 0) AS TEXT) AS low
      FROM (SELECT owner, files, counted_high, counted_low FROM usage WHERE dir_id = ${dirId} ${after}
        ORDER BY owner LIMIT ?) AS page`;
    type Row = { rows: number; last: string | null; files: number; high: string; low: string };
    const [row] = await this.sql.query<Row>(text, ...(owner === undefined ? [] : [owner]), limit);
    const { high, low, ...page } = row!;
    return { ...page, bytes: joinHalves(high, low) };
  }
}
