import type { Sql } from './sql.ts';
import { joined, moveUsageToRoot } from './usage.ts';

export interface DirRow {
  dir_id: number;
  name: string;
  owner: string;
  created_at: number;
  file_count: number;
  size: bigint;
}

/** With `d` for the directory. */
export const LISTED = `d.dir_id, d.name, d.owner, d.created_at, COALESCE(u.files, 0) AS file_count,
  CAST(COALESCE(u.bytes_high, 0) AS TEXT) AS high, CAST(COALESCE(u.bytes_low, 0) AS TEXT) AS low`;
export const JOIN_SUMS = 'LEFT JOIN usage u ON u.owner = d.owner AND u.dir_id = d.dir_id';
export type ListedDir = Omit<DirRow, 'size'> & { high: string; low: string };

/** In the order of their numbers; PostgreSQL takes longer to order them than to find them. */
export function listed(rows: ListedDir[]): DirRow[] {
  const dirs = rows.map(({ dir_id, name, owner, created_at, file_count, high, low }) => ({
    dir_id,
    name,
    owner,
    created_at,
    file_count,
    size: joined(high, low),
  }));
  return dirs.sort((a, b) => a.dir_id - b.dir_id);
}

/** Whether the directory may be used by that owner; holds it until the transaction ends. */
export async function holdDir(tx: Sql, owner: string, dirId: number): Promise<boolean> {
  if (dirId === 0) return true;
  const rows = await tx.query(
    `SELECT dir_id FROM dirs WHERE dir_id = ? AND owner = ? ${tx.dialect.forUpdate}`,
    dirId,
    owner,
  );
  return rows.length === 1;
}

export class Dirs {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Undefined when the owner has that name already. */
  async create(owner: string, name: string, now: number): Promise<number | undefined> {
    const [row] = await this.#sql.execute<{ dir_id: number }>(
      `INSERT INTO dirs (owner, name, created_at) VALUES (?, ?, ?)
       ON CONFLICT (owner, name) DO NOTHING RETURNING dir_id`,
      owner,
      name,
      now,
    );
    return row?.dir_id;
  }

  async list(owner: string): Promise<DirRow[]> {
    const rows = await this.#sql.query<ListedDir>(
      `SELECT ${LISTED} FROM dirs d ${JOIN_SUMS} WHERE d.owner = ?`,
      owner,
    );
    return listed(rows);
  }

  /** Files and pending transfers inside move to the root. False when the owner has no such directory. */
  remove(owner: string, dirId: number): Promise<boolean> {
    return this.#sql.transaction(async (tx) => {
      const gone = await tx.execute(
        'DELETE FROM dirs WHERE dir_id = ? AND owner = ? RETURNING dir_id',
        dirId,
        owner,
      );
      if (gone.length === 0) return false;
      // Transfers first: one that completes meanwhile has then either left its file for the next line, or not.
      await tx.execute('UPDATE transfers SET dir_id = 0 WHERE dir_id = ?', dirId);
      await tx.execute('UPDATE files SET dir_id = 0 WHERE dir_id = ?', dirId);
      await moveUsageToRoot(tx, dirId);
      return true;
    });
  }
}
