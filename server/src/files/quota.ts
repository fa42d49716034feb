/**
 * Usage and quota of every owner. Sums are kept for each owner and directory and updated in the transaction that changes the
 * files, so that a quota check reads one row. quota-recount.ts compares them with the files.
 */
import { ADMIN, extraAllowance } from '@szafa/protocol';
import { type Lookup, SESSION, SESSIONS, type SessionRow, sessionOf } from '../accounts/account-rows.ts';
import type { Sql } from '../platform/sql/sql.ts';
import { NOT_DONE } from '../transfers/transfer-rows.ts';
import { parseEntry } from '../transfers/volumes-table.ts';

/** In place of a directory's number: all files of an owner. The `rev` of this row is incremented by every change. */
export const ALL_DIRS = -1;
/** In place of a directory's number: the owner's trash, which counts in ALL_DIRS and in no directory. */
export const TRASH = -2;

/** Bytes are summed in two halves: one 64-bit sum overflows with a thousand files of the largest size. */
export const HALF = 2 ** 32;
export const SUMS = ['files', 'bytes_high', 'bytes_low', 'counted_high', 'counted_low', 'extra_bytes'];
export const USAGE_COLUMNS = ['owner', 'dir_id', ...SUMS, 'rev'];
export const INSERT_USAGE = `INSERT INTO usage (${USAGE_COLUMNS.join(', ')})`;
export const ADD_TO_USAGE = `ON CONFLICT (owner, dir_id) DO UPDATE SET
  ${[...SUMS, 'rev'].map((name) => `${name} = usage.${name} + excluded.${name}`).join(', ')}`;
const ROW = `(${USAGE_COLUMNS.map(() => '?').join(', ')})`;

/** The values of SUMS. Byte counts are split into halves, because their total can exceed a safe integer. */
type Sums = number[];
const ZERO: Sums = SUMS.map(() => 0);

function halves(value: number): [high: number, low: number] {
  const high = Math.trunc(value / HALF);
  return [high, value - high * HALF];
}

/** Halves come from the database as text because they can exceed a safe integer. */
export const joinHalves = (high: string, low: string) => BigInt(high) * BigInt(HALF) + BigInt(low);

/** Bytes that count toward an enforced quota. */
export const countedOf = (file: { size: number; stored_size: number }) =>
  Math.max(file.size, file.stored_size);

/**
 * Bytes of enc_params and thumbnail. They do not count toward the quota but have an allowance of their own, see
 * `extraAllowance`.
 */
export const extraOf = (file: { enc_params: string; thumbnail: string | null }) =>
  Buffer.byteLength(file.enc_params) + (parseEntry(file.thumbnail, 0)?.size ?? 0);
/** `extraOf` in SQL: a thumbnail's entry is a digest of 64 digits followed by the size. */
export const EXTRA = 'OCTET_LENGTH(enc_params) + COALESCE(CAST(SUBSTR(thumbnail, 65) AS BIGINT), 0)';

/** The directory number under which a file is counted. */
export const countedIn = ({ dir_id, trashed_at }: { dir_id: number; trashed_at: number }) =>
  trashed_at > 0 ? TRASH : dir_id;

/** Amounts to add to the rows of one owner, by directory. */
class UsageChanges extends Map<number, Sums> {
  add(dirId: number, sums: Sums, sign: 1 | -1): void {
    const after = (this.get(dirId) ?? ZERO).map((value, at) => value + sign * sums[at]!);
    this.set(dirId, after);
  }
}

/** A file that is created (from nowhere), deleted (to nowhere), or moved to another directory or the trash. */
interface UsageMove {
  owner: string;
  size: number;
  stored_size: number;
  extra: number;
  from: number | 'nowhere';
  to: number | 'nowhere';
}

/** Updates the sums; part of the transaction that changes the files. */
export async function moveUsage(tx: Sql, moves: UsageMove[]): Promise<void> {
  const byOwner = new Map<string, UsageChanges>();
  for (const { owner, extra, from, to, ...file } of moves) {
    const changes = byOwner.get(owner) ?? new UsageChanges([[ALL_DIRS, ZERO]]);
    byOwner.set(owner, changes);
    const sums = [1, ...halves(file.size), ...halves(countedOf(file))];
    const inDir = [...sums, 0];
    const inAll = [...sums, extra];
    if (from === 'nowhere') changes.add(ALL_DIRS, inAll, 1);
    else changes.add(from, inDir, -1);
    if (to === 'nowhere') changes.add(ALL_DIRS, inAll, -1);
    else changes.add(to, inDir, 1);
  }
  for (const [owner, changes] of [...byOwner].sort(([a], [b]) => (a < b ? -1 : 1))) {
    await addTo(tx, owner, changes);
  }
}

/** Limits the rows per statement, so that only a few statement texts exist and each is prepared once. */
const ROWS_AT_ONCE = 3;

/** Adds to the sums. Locks rows in ascending order to avoid deadlocks. `rev` is added to that of ALL_DIRS. */
async function addTo(tx: Sql, owner: string, changes: UsageChanges, rev = 1): Promise<void> {
  const rows = [...changes].sort(([a], [b]) => a - b);
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
    const some = rows.slice(at, at + ROWS_AT_ONCE);
    await tx.execute(
      `${INSERT_USAGE} VALUES ${some.map(() => ROW).join(', ')} ${ADD_TO_USAGE}`,
      ...some.flatMap(([dirId, sums]) => [owner, dirId, ...sums, dirId === ALL_DIRS ? rev : 0]),
    );
  }
}

/** Records that the owner's enc_params or thumbnails grew by `bytes`. */
export function addExtra(tx: Sql, owner: string, bytes: number): Promise<void> {
  return addTo(tx, owner, new UsageChanges([[ALL_DIRS, [...ZERO.slice(1), bytes]]]));
}

/** Records a change of a name or directory, which affects no sum. */
export function recordChange(tx: Sql, owner: string): Promise<void> {
  return addTo(tx, owner, new UsageChanges([[ALL_DIRS, ZERO]]));
}

/** Locks the owner's sums until the transaction ends. */
export function lockUsage(tx: Sql, owner: string): Promise<void> {
  return addTo(tx, owner, new UsageChanges([[ALL_DIRS, ZERO]]), 0);
}

/** Adds the sums of a deleted directory to the root, for every owner that has files in it. */
export async function moveUsageToRoot(tx: Sql, dirId: number): Promise<void> {
  await tx.execute(
    `${INSERT_USAGE} SELECT owner, ${ALL_DIRS}, ${ZERO.join(', ')}, 1 FROM usage WHERE dir_id = ? ORDER BY owner ${ADD_TO_USAGE}`,
    dirId,
  );
  await tx.execute(
    `${INSERT_USAGE} SELECT owner, 0, ${SUMS.join(', ')}, 0 FROM usage WHERE dir_id = ? ORDER BY owner ${ADD_TO_USAGE}`,
    dirId,
  );
  await tx.execute('DELETE FROM usage WHERE dir_id = ?', dirId);
}

/**
 * Whether the owner, with `more` added, exceeds the quota or the allowance for enc_params and thumbnails. `usual` is the
 * quota of owners without one of their own.
 */
export async function isOverQuota(tx: Sql, owner: string, usual: number, more = { counted: 0, extra: 0 }) {
  const { counted, extra, quota } = await usageWithOpenTransfers(tx, owner);
  if (counted + BigInt(more.counted) > BigInt(quota ?? usual)) return true;
  return extra + BigInt(more.extra) > BigInt(extraAllowance(quota ?? usual));
}

/** Whether the owner exceeds the allowance for enc_params and thumbnails, which the quota does not count. */
export async function isOverAllowance(tx: Sql, owner: string, usual: number): Promise<boolean> {
  const { extra, quota } = await usageWithOpenTransfers(tx, owner);
  return extra > BigInt(extraAllowance(quota ?? usual));
}

const LARGER = 'CASE WHEN file_size > stored_size THEN file_size ELSE stored_size END';
const total = (column: string) => `CAST(COALESCE(SUM(${column}), 0) AS TEXT)`;
type UsageTotals = Record<
  'high' | 'low' | 'open' | 'filing' | 'clones' | 'extra' | 'open_extra' | 'filing_extra' | 'clones_extra',
  string
> & { quota: number | null };

/**
 * Sums files, unfinished clones and open transfers. A transfer counts for its creator until it is completed, then for its new
 * owner.
 */
async function usageWithOpenTransfers(tx: Sql, owner: string) {
  // One statement: between two statements, a transfer could complete and be missed by both.
  const [row] = await tx.query<UsageTotals>(
    `SELECT ${total('counted_high')} AS high, ${total('counted_low')} AS low,
       (SELECT ${total(LARGER)} FROM transfers
        WHERE creator = ? AND ${NOT_DONE} AND owner IS NULL) AS open,
       (SELECT ${total(LARGER)} FROM transfers
        WHERE owner = ? AND status IN ('storing', 'failed')) AS filing,
       (SELECT ${total('g.clone_bytes')} FROM garbage g WHERE g.owner = ? AND g.clone_key IS NOT NULL) AS clones,
       ${total('extra_bytes')} AS extra,
       (SELECT ${total('OCTET_LENGTH(enc_params)')} FROM transfers
        WHERE creator = ? AND ${NOT_DONE} AND owner IS NULL) AS open_extra,
       (SELECT ${total('OCTET_LENGTH(enc_params)')} FROM transfers
        WHERE status IN ('storing', 'failed') AND owner = ?) AS filing_extra,
       (SELECT ${total('g.clone_extra_bytes')} FROM garbage g WHERE g.owner = ? AND g.clone_key IS NOT NULL) AS clones_extra,
       (SELECT quota_bytes FROM accounts WHERE username = ?) AS quota
     FROM usage WHERE dir_id = ${ALL_DIRS} AND owner IN (?, ?)`,
    ...Array<string>(8).fill(owner),
    // Files without an owner are the administrator's.
    owner === ADMIN ? '' : owner,
  );
  const { high, low, open, filing, clones, quota } = row!;
  const extras = [row!.extra, row!.open_extra, row!.filing_extra, row!.clones_extra];
  return {
    counted: joinHalves(high, low) + BigInt(open) + BigInt(filing) + BigInt(clones),
    extra: extras.reduce((sum, one) => sum + BigInt(one), 0n),
    quota,
  };
}

export interface AccountUsage {
  bytes: bigint;
  /** The account's own quota. */
  quota: number | null;
  /** Changes whenever the account's files or directories change. */
  rev: number;
}

/** For `Sessions.identify`: the caller's usage. */
export function lookUpUsage(sql: Sql): Lookup<AccountUsage> {
  return {
    // "The system administrator identity sees only files that belong to the administrator or that have no owner."
    admin: async () => {
      const [row] = await sql.query<{ high: string; low: string; rev: number }>(
        `SELECT ${total('bytes_high')} AS high, ${total('bytes_low')} AS low, CAST(COALESCE(SUM(rev), 0) AS BIGINT) AS rev
         FROM usage WHERE dir_id = ${ALL_DIRS} AND owner IN ('${ADMIN}', '')`,
      );
      return { bytes: joinHalves(row!.high, row!.low), quota: null, rev: row!.rev };
    },
    session: async (tokenHash) => {
      type UsageRow = { high: string | null; low: string | null; rev: number | null };
      const [row] = await sql.query<SessionRow & UsageRow & { quota_bytes: number | null }>(
        `SELECT ${SESSION}, c.quota_bytes, u.rev,
           CAST(u.bytes_high AS TEXT) AS high, CAST(u.bytes_low AS TEXT) AS low
         FROM ${SESSIONS} LEFT JOIN usage u ON u.owner = s.username AND u.dir_id = ${ALL_DIRS}
         WHERE s.token_hash = ?`,
        tokenHash,
      );
      if (!row) return undefined;
      const bytes = joinHalves(row.high ?? '0', row.low ?? '0');
      return { ...sessionOf(row), bytes, quota: row.quota_bytes, rev: row.rev ?? 0 };
    },
  };
}

/** "remain_bytes is quota minus used, never below 0. percent is used*100/quota rounded to one decimal, or 0 when the quota is 0" */
export function describeQuota(used: bigint, quota: number) {
  const remain = BigInt(quota) - used;
  return {
    used_bytes: used,
    quota_bytes: quota,
    remain_bytes: remain < 0n ? 0n : remain,
    percent: quota === 0 ? 0 : Math.round((Number(used) * 1000) / quota) / 10,
  };
}
