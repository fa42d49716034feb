import { ADMIN, limits } from '@szafa/protocol';
import {
  ADMIN_ACCOUNT,
  type Lookup,
  requireLiveAccount,
  SESSION,
  SESSIONS,
  type SessionRow,
  sessionOf,
} from '../accounts/account-rows.ts';
import { readPages } from '../platform/sql/pages.ts';
import { Queries, type Sql } from '../platform/sql/sql.ts';
import { NOT_DONE } from '../transfers/transfer-rows.ts';
import { outdateAccount, outdateDir } from '../upkeep/documents-table.ts';
import { tooManyDirs } from './refusals.ts';
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
/** Read together with the session. */
const FIRST_PAGE = 500;
interface ListedDir {
  dir_id: number;
  name: string;
  created_at: number;
  files: number | null;
  high: string | null;
  low: string | null;
}

const asRecord =
  (owner: string) =>
  ({ dir_id, name, created_at, files, high, low }: ListedDir): DirRow => ({
    dir_id,
    name,
    owner,
    created_at,
    file_count: files ?? 0,
    size: joined(high ?? '0', low ?? '0'),
  });

/** One entry for each directory: the administrator's may have two sums. */
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
  /** Undefined when the owner has that name already. `accountId`: only while that account is there; see `requireLiveAccount`. */
  create(
    owner: string,
    name: string,
    now: number,
    accountId = ADMIN_ACCOUNT,
    most: number = limits.dirs,
  ): Promise<number | undefined> {
    return this.sql.transaction(async (tx) => {
      await requireLiveAccount(tx, accountId);
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
      // Counted while the row of the sums is locked: no two of an owner count at the same time.
      const [count] = await tx.query<{ count: number }>(
        'SELECT COUNT(*) AS count FROM dirs WHERE owner = ?',
        owner,
      );
      if (count!.count > most) throw tooManyDirs();
      return row.dir_id;
    });
  }

  /** In the order of their numbers. */
  async list(owner: string, after = 0): Promise<DirRow[]> {
    const join = owner === ADMIN ? JOIN_ADMIN_SUMS : JOIN_SUMS;
    const page = (from: number, limit: number) =>
      this.sql.query<ListedDir>(
        `SELECT ${LISTED} FROM (SELECT dir_id, owner, name, created_at FROM dirs
           WHERE owner = ? AND dir_id > ? ORDER BY dir_id LIMIT ?) AS d ${join} ORDER BY d.dir_id`,
        ...[owner, from, limit],
      );
    const rows = await readPages(page, after, ({ dir_id }) => dir_id);
    return merged(rows.map(asRecord(owner)));
  }

  /** For `Sessions.identify`: the caller's directories. */
  lookUp(): Lookup<{ dirs: DirRow[] }> {
    return {
      admin: async () => ({ dirs: await this.list(ADMIN) }),
      session: async (tokenHash) => {
        const rows = await this.sql.query<SessionRow & (ListedDir | { dir_id: null })>(
          `SELECT ${SESSION}, ${LISTED}
           FROM ${SESSIONS} LEFT JOIN dirs d ON d.owner = s.username ${JOIN_SUMS} WHERE s.token_hash = ?
           ORDER BY d.dir_id LIMIT ${FIRST_PAGE}`,
          tokenHash,
        );
        if (!rows[0]) return undefined;
        const { username } = rows[0];
        const dirs = rows.filter((row) => row.dir_id !== null).map(asRecord(username));
        const rest = rows.length < FIRST_PAGE ? [] : await this.list(username, dirs.at(-1)!.dir_id);
        return { ...sessionOf(rows[0]), dirs: [...dirs, ...rest] };
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
