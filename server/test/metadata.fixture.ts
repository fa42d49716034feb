import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { ADMIN, type NewTransfer } from '@szafa/protocol';
import type { SessionRow } from '../src/accounts/account-rows.ts';
import { insertAccount } from '../src/accounts/accounts-table.ts';
import { insertSession } from '../src/accounts/sessions-table.ts';
import type { FileRow } from '../src/files/files-table.ts';
import { ALL_DIRS, joinHalves } from '../src/files/quota.ts';
import type { Metadata } from '../src/metadata.ts';
import type { Sql, SqlStore } from '../src/platform/sql/sql.ts';
import { toTransfer } from '../src/transfers/transfer-rows.ts';

/** One database; every `open` is a store of its own on it, as each process has one. */
export interface Database {
  open(): Promise<SqlStore>;
  destroy(): Promise<void>;
}

export const NOW = Date.UTC(2026, 0, 1);
export const DIGEST = 'ab'.repeat(32);

/** Fresh for each call, so that tests on one database never meet. */
export const fresh = (what = 'x') => `${what}_${randomBytes(8).toString('hex')}`;
export const newId = () => randomBytes(16).toString('hex');

/** A session of whomever, as it is found again. */
export async function openSession(
  { sql }: { sql: Sql },
  tokenHash: string,
  username: string,
  now: number,
): Promise<SessionRow> {
  const made = { username, accountId: `account of ${username}`, passwordHash: 'hash', createdAt: now };
  await insertAccount(sql, made);
  const text = 'SELECT account_id FROM accounts WHERE username = ?';
  const [account] = await sql.query<{ account_id: string }>(text, username);
  const accountId = account!.account_id;
  const session_id = await insertSession(sql, { tokenHash, username, accountId, device: '', now });
  const limits = { scope: 'full' as const, only_dir: null, expires_at: null };
  const own = { disabled_at: null, upload_rate: null, download_rate: null };
  return { session_id, username, account_id: accountId, used_at: now, ...limits, ...own };
}

export function newTransfer(over: Partial<NewTransfer> & { count?: number } = {}): NewTransfer {
  const { count = 1, ...rest } = over;
  return {
    fileName: 'name',
    fileSize: 10,
    storedSize: 26,
    totalSha256: DIGEST,
    dirId: 0,
    encParams: '{"k":1}',
    streamed: 'no',
    volumes: Array.from({ length: count }, (_, at) => ({ idx: at + 1, size: at, sha256: DIGEST })),
    ...rest,
  };
}

export async function begin(
  metadata: Metadata,
  creator: string,
  over: Parameters<typeof newTransfer>[0] & { now?: number } = {},
): Promise<{ transferId: string; fileId: string }> {
  const { now = NOW, ...init } = over;
  const ids = { transferId: fresh('t'), fileId: newId(), creator, now };
  assert.equal(await metadata.transfers.create(newTransfer(init), ids), 'created');
  return ids;
}

/** A process that pulls; of an account and a node of its own where none are named. */
export const puller = (runner: string, caller = fresh('u'), node = fresh('n')) => ({ caller, node, runner });
/** More pulls than any test has. */
export const PLENTY = { account: 1000, node: 1000 };

/** A file, by way of a transfer, as it really comes about. */
export async function filed(
  metadata: Metadata,
  owner: string,
  over: Parameters<typeof begin>[2] = {},
): Promise<string> {
  const { transferId, fileId } = await begin(metadata, owner, over);
  await metadata.transfers.beginStoring(transferId, owner);
  await finish(metadata, transferId);
  return fileId;
}

/** The end of a complete, by the row that its beginning found. */
export async function finish({ transfers }: Metadata, transferId: string, now = NOW): Promise<boolean> {
  const found = await transfers.get(transferId);
  const ids = { transferId, fileId: newId(), creator: 'nobody', now };
  return transfers.finishStoring(found ?? toTransfer(newTransfer(), ids, 'uploading'), now);
}

export async function ids(metadata: Metadata, owner: string, dirId?: number): Promise<string[]> {
  const rows = await metadata.files.list(owner, { limit: 10_000, ...(dirId === undefined ? {} : { dirId }) });
  return rows.map((row) => row.file_id);
}

interface Sums {
  owner: string;
  dir_id: number;
  files: number;
  bytes: bigint;
  counted: bigint;
}

/** What the sums should be, counted over the files themselves. */
export async function countedOverFiles(sql: SqlStore, owners: string[]): Promise<Sums[]> {
  const sums = new Map<string, Sums>();
  for (const owner of owners) {
    const rows = await sql.query<Pick<FileRow, 'dir_id' | 'size' | 'stored_size' | 'trashed_at'>>(
      'SELECT dir_id, size, stored_size, trashed_at FROM files WHERE owner = ?',
      owner,
    );
    for (const { size, stored_size, trashed_at, ...row } of rows) {
      const dir_id = trashed_at > 0 ? -2 : row.dir_id;
      const key = `${owner} ${dir_id}`;
      const sum = sums.get(key) ?? { owner, dir_id, files: 0, bytes: 0n, counted: 0n };
      sum.files++;
      sum.bytes += BigInt(size);
      sum.counted += BigInt(Math.max(size, stored_size));
      sums.set(key, sum);
    }
  }
  return [...sums.values()];
}

/** The kept sums of an owner over all directories. */
export async function usageOf(sql: Sql, owner: string): Promise<{ bytes: bigint; counted: bigint }> {
  const names = ['bytes_high', 'bytes_low', 'counted_high', 'counted_low'];
  const sums = names.map((name) => `CAST(COALESCE(SUM(${name}), 0) AS TEXT) AS ${name}`).join(', ');
  const text = `SELECT ${sums} FROM usage WHERE dir_id = ${ALL_DIRS} AND owner IN (?, ?)`;
  const [row] = await sql.query<Record<string, string>>(text, owner, owner === ADMIN ? '' : owner);
  const joined = (name: string) => joinHalves(row![`${name}_high`]!, row![`${name}_low`]!);
  return { bytes: joined('bytes'), counted: joined('counted') };
}

/** The kept sums, as the service shows them, equal those over the files; so do the counts of directories, without the trash. */
export async function assertSums(metadata: Metadata, sql: SqlStore, owners: string[]): Promise<void> {
  const expected = await countedOverFiles(sql, owners);
  for (const owner of owners) {
    const own = expected.filter((sum) => sum.owner === owner);
    assert.deepEqual(await usageOf(sql, owner), {
      bytes: own.reduce((sum, { bytes }) => sum + bytes, 0n),
      counted: own.reduce((sum, { counted }) => sum + counted, 0n),
    });
    for (const dir of await metadata.dirs.list(owner)) {
      const inside = own.find((sum) => sum.dir_id === dir.dir_id);
      assert.equal(dir.file_count, inside?.files ?? 0, `file_count of directory ${dir.dir_id}`);
      assert.equal(dir.size, inside?.bytes ?? 0n, `size of directory ${dir.dir_id}`);
    }
  }
}
