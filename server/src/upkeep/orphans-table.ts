import { countUpToLimit, Queries, type Sql } from '../platform/sql/sql.ts';

/** The progress of the search for orphans. */
export interface OrphanRound {
  beganAt: number;
  /** The last group that was checked; null if the search is finished. */
  after: string | null;
  groups: number;
  orphans: number;
}

/** Completed transfers are not included: their files are, unless they were deleted. */
const IN_USE = `SELECT file_id FROM files WHERE file_id IN (LISTED)
  UNION SELECT file_id FROM transfers WHERE file_id IN (LISTED) AND status <> 'done'`;

/** Volume groups without a file or transfer, and the progress of the search for them. */
export class OrphansTable extends Queries {
  count(): Promise<number> {
    return countUpToLimit(this.sql, 'orphans');
  }

  /** Returns the ids that are files. */
  async files(ids: string[]): Promise<Set<string>> {
    return this.#ids('SELECT file_id FROM files WHERE file_id IN (LISTED)', JSON.stringify(ids));
  }

  /** Returns the ids that are files, open uploads or garbage. */
  async known(ids: string[]): Promise<Set<string>> {
    const list = JSON.stringify(ids);
    const text = `${IN_USE} UNION SELECT file_id FROM garbage WHERE file_id IN (LISTED)`;
    return this.#ids(text, list, list, list);
  }

  async #ids(text: string, ...lists: string[]): Promise<Set<string>> {
    const statement = text.replaceAll('LISTED', this.sql.dialect.jsonList);
    const rows = await this.sql.query<{ file_id: string }>(statement, ...lists);
    return new Set(rows.map((row) => row.file_id));
  }

  async note(ids: Iterable<string>, now: number): Promise<void> {
    await this.sql.transaction((tx) => note(tx, ids, now));
  }

  async list(after: string, limit: number): Promise<{ file_id: string; first_seen: number }[]> {
    const text = 'SELECT file_id, first_seen FROM orphans WHERE file_id > ? ORDER BY file_id LIMIT ?';
    return this.sql.query(text, after, limit);
  }

  async forget(id: string): Promise<void> {
    await this.sql.execute('DELETE FROM orphans WHERE file_id = ?', id);
  }

  /** Turns the group into garbage, unless a record refers to it by now. */
  makeGarbage(id: string, now: number): Promise<boolean> {
    return this.sql.transaction(async (tx) => {
      if (!(await claimOrphan(tx, id))) return false;
      await tx.execute('INSERT INTO garbage (file_id, not_before) VALUES (?, ?)', id, now);
      return true;
    });
  }

  async round(): Promise<OrphanRound> {
    const [row] = await this.sql.query<OrphanRound>(
      'SELECT started_at AS "beganAt", after_id AS after, groups_seen AS groups, orphans_seen AS orphans FROM orphan_search',
    );
    return row!;
  }

  /** Records orphans together with the progress of the search. */
  keepRound(round: OrphanRound, found: { known: Iterable<string>; unknown: Iterable<string> }, now: number) {
    return this.sql.transaction(async (tx) => {
      await note(tx, found.unknown, now);
      const list = JSON.stringify([...found.known]);
      await tx.execute(`DELETE FROM orphans WHERE file_id IN (${tx.dialect.jsonList})`, list);
      const text = 'UPDATE orphan_search SET started_at = ?, after_id = ?, groups_seen = ?, orphans_seen = ?';
      await tx.execute(text, round.beganAt, round.after, round.groups, round.orphans);
    });
  }
}

async function note(tx: Sql, ids: Iterable<string>, now: number): Promise<void> {
  const text = 'INSERT INTO orphans (file_id, first_seen) VALUES (?, ?) ON CONFLICT (file_id) DO NOTHING';
  for (const id of ids) await tx.execute(text, id, now);
}

/**
 * Returns whether no record refers to the group. Every transaction that takes or removes an orphan must call this first: two
 * such transactions wait for each other at the row, and the second sees the result of the first.
 */
export async function claimOrphan(tx: Sql, id: string): Promise<boolean> {
  await note(tx, [id], 0);
  const claimed = await tx.execute('DELETE FROM orphans WHERE file_id = ? RETURNING file_id', id);
  if (claimed.length === 0) return false;
  return (await new OrphansTable(tx).known([id])).size === 0;
}
