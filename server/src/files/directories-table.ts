import { ADMIN, type Directory, limits } from '@szafa/protocol';
import {
  ADMIN_ACCOUNT,
  type Lookup,
  requireLiveAccount,
  SESSION,
  SESSIONS,
  type SessionRow,
  sessionOf,
} from '../accounts/account-rows.ts';
import { ApiError } from '../platform/http/api-error.ts';
import { readPages } from '../platform/sql/pages.ts';
import { countUpToLimit, exists, first, Queries, type Sql } from '../platform/sql/sql.ts';
import { NOT_DONE } from '../transfers/transfer-rows.ts';
import { markAccountStale, markDirStale } from '../upkeep/documents-table.ts';
import { joinHalves, moveUsageToRoot, recordChange } from './quota.ts';
import { takenDir, unknownDir } from './refusals.ts';

export type DirectoryRow = Omit<Directory, 'created_at' | 'size'> & { created_at: number; size: bigint };

/** Here `d` is the directory and `u` its sums, which are null if it never had a file. */
const WITH_SUMS = `d.dir_id, d.name, d.created_at, u.files,
  CAST(u.bytes_high AS TEXT) AS high, CAST(u.bytes_low AS TEXT) AS low`;
const JOIN_SUMS = 'LEFT JOIN usage u ON u.owner = d.owner AND u.dir_id = d.dir_id';
/** The administrator's directories may also hold files without an owner. */
const JOIN_ADMIN_SUMS = "LEFT JOIN usage u ON u.owner IN (d.owner, '') AND u.dir_id = d.dir_id";
type RowWithSums = Pick<DirectoryRow, 'dir_id' | 'name' | 'created_at'> & {
  files: number | null;
  high: string | null;
  low: string | null;
};
/** Number of directories read in the same query as the session. */
const FIRST_PAGE = 500;

const toDirectory =
  (owner: string) =>
  ({ dir_id, name, created_at, files, high, low }: RowWithSums): DirectoryRow => ({
    dir_id,
    name,
    owner,
    created_at,
    file_count: files ?? 0,
    size: joinHalves(high ?? '0', low ?? '0'),
  });

/** Merges rows into one entry per directory: the administrator's directories may have two sums. */
function mergeSums(dirs: DirectoryRow[]): DirectoryRow[] {
  const byId = new Map<number, DirectoryRow>();
  for (const dir of dirs) {
    const { file_count = 0, size = 0n } = byId.get(dir.dir_id) ?? {};
    byId.set(dir.dir_id, { ...dir, file_count: file_count + dir.file_count, size: size + dir.size });
  }
  return [...byId.values()];
}

/** Locks a directory of this owner until the transaction ends; false if there is none. The root needs no lock. */
export async function lockDir(tx: Sql, owner: string, dirId: number): Promise<boolean> {
  const text = `SELECT dir_id FROM dirs WHERE dir_id = ? AND owner = ? ${tx.dialect.forUpdate}`;
  return dirId === 0 || exists(tx, text, dirId, owner);
}

/** Like `lockDir`, for a directory of any owner. */
export const lockAnyDir = (tx: Sql, dirId: number) =>
  exists(tx, `SELECT 1 FROM dirs WHERE dir_id = ? ${tx.dialect.forUpdate}`, dirId);

const INSERT = `INSERT INTO dirs (owner, name, created_at) VALUES (?, ?, ?)
  ON CONFLICT (owner, name) DO NOTHING RETURNING dir_id`;

export class DirectoriesTable extends Queries {
  /** Returns undefined if the owner has a directory with this name. */
  create(owner: string, name: string, now: number, accountId = ADMIN_ACCOUNT, most: number = limits.dirs) {
    return this.sql.transaction(async (tx) => {
      await requireLiveAccount(tx, accountId);
      const [row] = await tx.execute<{ dir_id: number }>(INSERT, owner, name, now);
      if (!row) return undefined;
      await markAccountStale(tx, owner);
      await recordChange(tx, owner);
      // Counted after `recordChange` has locked the owner's sums, so that concurrent calls count one after the other.
      if ((await countUpToLimit(tx, 'dirs WHERE owner = ?', owner)) > most)
        throw new ApiError(409, 'you have too many directories; delete some of them');
      return row.dir_id;
    });
  }

  /** Ordered by number. */
  async list(owner: string, after = 0): Promise<DirectoryRow[]> {
    const join = owner === ADMIN ? JOIN_ADMIN_SUMS : JOIN_SUMS;
    const page = (from: number, limit: number) =>
      this.sql.query<RowWithSums>(
        `SELECT ${WITH_SUMS} FROM (SELECT dir_id, owner, name, created_at FROM dirs
           WHERE owner = ? AND dir_id > ? ORDER BY dir_id LIMIT ?) AS d ${join} ORDER BY d.dir_id`,
        ...[owner, from, limit],
      );
    const rows = await readPages(page, after, ({ dir_id }) => dir_id);
    return mergeSums(rows.map(toDirectory(owner)));
  }

  /** For `Sessions.identify`: the caller's directories. */
  lookUp(): Lookup<{ dirs: DirectoryRow[] }> {
    return {
      admin: async () => ({ dirs: await this.list(ADMIN) }),
      session: async (tokenHash) => {
        const rows = await this.sql.query<SessionRow & (RowWithSums | { dir_id: null })>(
          `SELECT ${SESSION}, ${WITH_SUMS}
           FROM ${SESSIONS} LEFT JOIN dirs d ON d.owner = s.username ${JOIN_SUMS} WHERE s.token_hash = ?
           ORDER BY d.dir_id LIMIT ${FIRST_PAGE}`,
          tokenHash,
        );
        if (!rows[0]) return undefined;
        const { username } = rows[0];
        const dirs = rows.filter((row) => row.dir_id !== null).map(toDirectory(username));
        const rest = rows.length < FIRST_PAGE ? [] : await this.list(username, dirs.at(-1)!.dir_id);
        return { ...sessionOf(rows[0]), dirs: [...dirs, ...rest] };
      },
    };
  }

  rename(owner: string, dirId: number, { name, match }: { name: string; match: string }): Promise<void> {
    return this.sql.transaction(async (tx) => {
      const text = `SELECT name FROM dirs WHERE dir_id = ? AND owner = ? ${tx.dialect.forUpdate}`;
      const dir = await first<{ name: string }>(tx, text, dirId, owner);
      if (!dir) throw unknownDir();
      if (dir.name !== match) throw new ApiError(412, 'the directory has been renamed in the meantime');
      if (dir.name === name) return;
      // Inserts a row with the new name for a moment: a concurrent `create` of this name waits for it and then finds the name
      // taken.
      const [placeholder] = await tx.execute<{ dir_id: number }>(INSERT, owner, name, 0);
      if (!placeholder) throw takenDir();
      await tx.execute('DELETE FROM dirs WHERE dir_id = ?', placeholder.dir_id);
      await tx.execute('UPDATE dirs SET name = ? WHERE dir_id = ?', name, dirId);
      await markAccountStale(tx, owner);
      await recordChange(tx, owner);
    });
  }

  remove(owner: string, dirId: number): Promise<boolean> {
    return this.sql.transaction((tx) => removeDir(tx, owner, dirId));
  }
}

/**
 * Deletes a directory. Its files, including those in the trash, and its open transfers move to the root. False if the owner
 * has no such directory.
 */
export async function removeDir(tx: Sql, owner: string, dirId: number): Promise<boolean> {
  const text = 'DELETE FROM dirs WHERE dir_id = ? AND owner = ? RETURNING dir_id';
  if ((await tx.execute(text, dirId, owner)).length === 0) return false;
  // Transfers before files: a transfer that completes in between has created its file before the statements below run.
  await tx.execute(`UPDATE transfers SET dir_id = 0 WHERE dir_id = ? AND ${NOT_DONE}`, dirId);
  await markDirStale(tx, dirId);
  await tx.execute('UPDATE files SET dir_id = 0, rev = rev + 1 WHERE dir_id = ?', dirId);
  await recordChange(tx, owner);
  await moveUsageToRoot(tx, dirId);
  await markAccountStale(tx, owner);
  return true;
}
