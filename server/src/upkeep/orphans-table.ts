import { countSome, Queries, type Sql } from '../platform/sql/sql.ts';

/** How far the search for orphans is. */
export interface OrphanRound {
  beganAt: number;
  /** The last group that was looked at; null when the round is over. */
  after: string | null;
  groups: number;
  orphans: number;
}

/** A transfer that is done names a file, or one that is deleted. */
const IN_USE = `SELECT file_id FROM files WHERE file_id IN (LISTED)
  UNION SELECT file_id FROM transfers WHERE file_id IN (LISTED) AND status <> 'done'`;

/** Volume groups that no record names, and the search for them. */
export class OrphansTable extends Queries {
  count(): Promise<number> {
    return countSome(this.sql, 'orphans');
  }

  /** Those that are files. */
  async files(ids: string[]): Promise<Set<string>> {
    return this.#ids('SELECT file_id FROM files WHERE file_id IN (LISTED)', JSON.stringify(ids));
  }

  /** Those that are a file or an upload, or wait to be removed. */
  async known(ids: string[]): Promise<Set<string>> {
    const list = JSON.stringify(ids);
    const text = `${IN_USE} UNION SELECT file_id FROM garbage WHERE file_id IN (LISTED)`;
    return this.#ids(text, list, list, list);
  }

  async #ids(text: string, ...lists: string[]): Promise<Set<string>> {
    const statement = text.replaceAll('LISTED', this.sql.dialect.listed);
    const rows = await this.sql.query<{ file_id: string }>(statement, ...lists);
    return new Set(rows.map((row) => row.file_id));
  }

  async note(ids: Iterable<string>, now: number): Promise<void> {
    await this.sql.transaction((tx) => note(tx, ids, now));
  }

  async list(after: string, limit: number): Promise<{ file_id: string; first_seen: number }[]> {
    return this.sql.query(
      'SELECT file_id, first_seen FROM orphans WHERE file_id > ? ORDER BY file_id LIMIT ?',
      after,
      limit,
    );
  }

  /** There is no such group any more, or it is no orphan. */
  async forget(id: string): Promise<void> {
    await this.sql.execute('DELETE FROM orphans WHERE file_id = ?', id);
  }

  /** Leaves the group to the sweeper, if nothing names it still. */
  doom(id: string, now: number): Promise<boolean> {
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

  /** What was found, and how far the search is now, together. */
  keepRound(round: OrphanRound, found: { known: Iterable<string>; unknown: Iterable<string> }, now: number) {
    return this.sql.transaction(async (tx) => {
      await note(tx, found.unknown, now);
      const list = JSON.stringify([...found.known]);
      await tx.execute(`DELETE FROM orphans WHERE file_id IN (${tx.dialect.listed})`, list);
      await tx.execute(
        'UPDATE orphan_search SET started_at = ?, after_id = ?, groups_seen = ?, orphans_seen = ?',
        round.beganAt,
        round.after,
        round.groups,
        round.orphans,
      );
    });
  }
}

async function note(tx: Sql, ids: Iterable<string>, now: number): Promise<void> {
  const text = 'INSERT INTO orphans (file_id, first_seen) VALUES (?, ?) ON CONFLICT (file_id) DO NOTHING';
  for (const id of ids) await tx.execute(text, id, now);
}

/**
 * True when nothing names the group. Whoever takes or removes an orphan calls this first in its transaction: two of them
 * wait for each other at the row, and the second one finds what the first has made of the group.
 */
export async function claimOrphan(tx: Sql, id: string): Promise<boolean> {
  await note(tx, [id], 0);
  const claimed = await tx.execute('DELETE FROM orphans WHERE file_id = ? RETURNING file_id', id);
  if (claimed.length === 0) return false;
  return (await new OrphansTable(tx).known([id])).size === 0;
}
