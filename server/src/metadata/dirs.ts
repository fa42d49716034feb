import { ADMIN } from '@szafa/protocol';
import { ADMIN_ACCOUNT, outdateAccount, outdateDir } from './documents.ts';
import { type Lookup, SESSION, SESSIONS, type SessionRow, sessionOf } from './lookup.ts';
import { holdAccount } from './presence.ts';
import { Queries, type Sql } from './sql.ts';
import { NOT_DONE } from './transfer-rows.ts';
import { joined, moveUsageToRoot, noteChange } from './usage.ts';

export interface DirRow {
  dir_id: number;
  name: string;
  owner: string;
  created_at: number;
  file_count: number;
  size: bigint;
}

/** With `d` for the directory; what it has is null where it never had a file. */
const LISTED = `d.dir_id, d.name, d.created_at, u.files,
  CAST(u.bytes_high AS TEXT) AS high, CAST(u.bytes_low AS TEXT) AS low`;
const JOIN_SUMS = 'LEFT JOIN usage u ON u.owner = d.owner AND u.dir_id = d.dir_id';
/** Files without an owner can also be in the administrator's directories. */
const JOIN_ADMIN_SUMS = "LEFT JOIN usage u ON u.owner IN (d.owner, '') AND u.dir_id = d.dir_id";
interface ListedDir {
  dir_id: number;
  name: string;
  created_at: number;
  files: number | null;
  high: string | null;
  low: string | null;
}

/** In the order of their numbers; PostgreSQL takes longer to order them, and to fill in zeros, than to find them. */
function listed(owner: string, rows: ListedDir[]): DirRow[] {
  const dirs = rows.map(({ dir_id, name, created_at, files, high, low }) => ({
    dir_id,
    name,
    owner,
    created_at,
    file_count: files ?? 0,
    size: joined(high ?? '0', low ?? '0'),
  }));
  return dirs.sort((a, b) => a.dir_id - b.dir_id);
}

/** One entry for each directory. */
function merged(dirs: DirRow[]): DirRow[] {
  const byId = new Map<number, DirRow>();
  for (const dir of dirs) {
    const first = byId.get(dir.dir_id);
    if (!first) byId.set(dir.dir_id, dir);
    else {
      first.file_count += dir.file_count;
      first.size += dir.size;
    }
  }
  return [...byId.values()];
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

/** Whether the directory is there, whosever it is; holds it until the transaction ends. */
export async function holdAnyDir(tx: Sql, dirId: number): Promise<boolean> {
  const rows = await tx.query(`SELECT dir_id FROM dirs WHERE dir_id = ? ${tx.dialect.forUpdate}`, dirId);
  return rows.length === 1;
}

export class DirsTable extends Queries {
  /** Undefined when the owner has that name already. `accountId`: only while that account is there; see `holdAccount`. */
  create(owner: string, name: string, now: number, accountId = ADMIN_ACCOUNT): Promise<number | undefined> {
    return this.sql.transaction(async (tx) => {
      await holdAccount(tx, accountId);
      const [row] = await tx.execute<{ dir_id: number }>(
        `INSERT INTO dirs (owner, name, created_at) VALUES (?, ?, ?)
         ON CONFLICT (owner, name) DO NOTHING RETURNING dir_id`,
        owner,
        name,
        now,
      );
      if (!row) return undefined;
      await outdateAccount(tx, owner);
      await noteChange(tx, owner);
      return row.dir_id;
    });
  }

  async list(owner: string): Promise<DirRow[]> {
    const rows = await this.sql.query<ListedDir>(
      `SELECT ${LISTED} FROM dirs d ${owner === ADMIN ? JOIN_ADMIN_SUMS : JOIN_SUMS} WHERE d.owner = ?`,
      owner,
    );
    const dirs = listed(owner, rows);
    return owner === ADMIN ? merged(dirs) : dirs;
  }

  /** For `Sessions.identify`: the caller's directories. */
  lookUp(): Lookup<{ dirs: DirRow[] }> {
    return {
      admin: async () => ({ dirs: await this.list(ADMIN) }),
      session: async (tokenHash) => {
        const rows = await this.sql.query<SessionRow & (ListedDir | { dir_id: null })>(
          `SELECT ${SESSION}, ${LISTED}
           FROM ${SESSIONS} LEFT JOIN dirs d ON d.owner = s.username ${JOIN_SUMS} WHERE s.token_hash = ?`,
          tokenHash,
        );
        if (!rows[0]) return undefined;
        const found = rows.filter((row) => row.dir_id !== null);
        return { ...sessionOf(rows[0]), dirs: listed(rows[0].username, found) };
      },
    };
  }

  /** Files and pending transfers inside move to the root, and so do files in the trash that came from there. False when the owner has no such directory. */
  remove(owner: string, dirId: number): Promise<boolean> {
    return this.sql.transaction((tx) => removeDir(tx, owner, dirId));
  }
}

export async function removeDir(tx: Sql, owner: string, dirId: number): Promise<boolean> {
  const gone = await tx.execute(
    'DELETE FROM dirs WHERE dir_id = ? AND owner = ? RETURNING dir_id',
    dirId,
    owner,
  );
  if (gone.length === 0) return false;
  // Transfers first: one that completes meanwhile has then either left its file for the next line, or not.
  await tx.execute(`UPDATE transfers SET dir_id = 0 WHERE dir_id = ? AND ${NOT_DONE}`, dirId);
  await outdateDir(tx, dirId);
  await tx.execute('UPDATE files SET dir_id = 0, rev = rev + 1 WHERE dir_id = ?', dirId);
  await noteChange(tx, owner);
  await moveUsageToRoot(tx, dirId);
  await outdateAccount(tx, owner);
  return true;
}
