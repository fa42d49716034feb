import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ADMIN } from '@szafa/protocol';
import { moveUsage } from '../src/files/quota.ts';
import { findWrongUsage, repairUsage } from '../src/files/quota-recount.ts';
import { Metadata } from '../src/metadata.ts';
import { storeSamples } from '../src/node-metrics.ts';
import { TotalsCount } from '../src/operator/totals.ts';
import type { Sql, SqlStore, Value } from '../src/platform/sql/sql.ts';
import { rowsOf, type TableName, tables } from '../src/upkeep/commands/rows.ts';
import type { Stores } from './metadata.contract.ts';
import { filed, fresh, NOW, newId, newTransfer, openSession, usageOf } from './metadata.fixture.ts';

/** They have one row, or as many as there are things of a kind, or nothing while all is well. All others grow with the service. */
const SMALL = [
  'schema_version',
  'store',
  'orphan_search',
  'totals',
  'volume_checks',
  'timestamps',
  'volume_faults',
];
/** These hold only what is under way, so they may be read from end to end. */
const SMALL_INDEXES = ['transfers_open', 'pulls_running', 'garbage_clones', 'accounts_deleting'];

/** What reads a table from end to end all the same, and why it may. */
const MAY_SCAN: [text: RegExp, why: string][] = [
  [
    /^SELECT COUNT\(\*\) AS count FROM \(SELECT 1 FROM \w+( WHERE ended_at IS NULL)? LIMIT \d+\)/,
    'counts no further',
  ],
  [/^UPDATE garbage SET not_before = 0$/, 'once, at a start'],
  [/^UPDATE pulls SET lease_until = 0$/, 'once, at a start'],
  [/^DELETE FROM streamed_claims RETURNING/, 'once, at a start; holds what is on its way'],
  [/^DELETE FROM received_volumes$/, 'once, when a store becomes contested'],
  [/^DELETE FROM received_volumes WHERE NOT EXISTS/, 'holds uploads under way, a row for 32 volumes'],
  [/^UPDATE pulls SET lease_until = 0 WHERE runner/, 'when a process has died; holds uploads under way'],
];

export interface Statement {
  text: string;
  params: Value[];
  rows: number;
}

/** Notes every statement, and how many rows it gave. */
export function recording<S extends Sql>(sql: S, statements: Statement[]): S {
  return new Proxy(sql, {
    get(target, name) {
      if (name === 'query' || name === 'execute') {
        return async (text: string, ...params: Value[]) => {
          const rows = await target[name]<object>(text, ...params);
          statements.push({ text, params, rows: rows.length });
          return rows;
        };
      }
      if (name === 'transaction') {
        return (work: (tx: Sql) => Promise<unknown>) =>
          target.transaction((tx) => work(recording(tx, statements)));
      }
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

const isPostgres = (sql: SqlStore) => sql.dialect.clustered === '';

async function largeTables(sql: SqlStore): Promise<string[]> {
  const tables = await sql.query<{ name: string }>(sql.dialect.tables);
  return tables.map(({ name }) => name).filter((name) => !SMALL.includes(name));
}

/** The large tables that a statement reads from end to end. */
async function scans(sql: SqlStore, { text, params }: Statement, large: string[]): Promise<string[]> {
  if (MAY_SCAN.some(([pattern]) => pattern.test(text))) return [];
  return isPostgres(sql)
    ? scansOfPostgres(sql, text, params, large)
    : scansOfSqlite(sql, text, params, large);
}

/** A page of a table, in the order of its key, reads no more than the page. */
const isPage = (text: string) => /^SELECT [\w, ]+ FROM (\w+) ORDER BY \w+ LIMIT \d+$/.test(text);

async function scansOfSqlite(
  sql: SqlStore,
  text: string,
  params: Value[],
  large: string[],
): Promise<string[]> {
  const plan = await sql.execute<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`, ...params);
  const sorts = plan.some(({ detail }) => /TEMP B-TREE FOR ORDER BY/.test(detail));
  return plan.flatMap(({ detail }) => {
    const [, name = ''] = /^SCAN (\w+)/.exec(detail) ?? [];
    // A short name stands for the table before it.
    const table = large.includes(name) ? name : new RegExp(`(\\w+)(?: AS)? ${name}\\b`).exec(text)?.[1];
    if (name === '' || !large.includes(table ?? '')) return [];
    if (SMALL_INDEXES.some((index) => detail.endsWith(`INDEX ${index}`))) return [];
    return isPage(text) && !sorts ? [] : [`${table}: ${detail}`];
  });
}

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Index Cond'?: string;
  Filter?: string;
  Plans?: Plan[];
}

async function scansOfPostgres(
  sql: SqlStore,
  text: string,
  params: Value[],
  large: string[],
): Promise<string[]> {
  const found: string[] = [];
  const walk = (plan: Plan, limited: boolean) => {
    const { 'Node Type': type, 'Relation Name': table = '', 'Index Name': index = '' } = plan;
    const whole = /^(Seq|Index|Index Only) Scan$/.test(type) && plan['Index Cond'] === undefined;
    const bounded = limited && plan.Filter === undefined;
    if (whole && !bounded && large.includes(table) && !SMALL_INDEXES.includes(index))
      found.push(`${table}: ${type} ${index} ${plan.Filter ?? ''}`);
    // Whatever sorts or adds up reads all first.
    const passes = /^(Limit|Result|Subquery Scan|LockRows)$/.test(type);
    for (const part of plan.Plans ?? []) walk(part, passes && (limited || type === 'Limit'));
  };
  const [row] = await sql.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(
    `EXPLAIN (FORMAT JSON) ${text}`,
    ...params,
  );
  walk(row!['QUERY PLAN'][0]!.Plan, false);
  return found;
}

const MANY = 6_000;
/** In the future of every test, so that nothing of it has run out. */
const LATER = Date.UTC(2096, 0, 1);
/** What differs from row to row in a way that matters for how they are found. */
const VALUES: Record<string, string> = {
  'files.owner': "'zzmany' || n / 4",
  'files.dir_id': 'CASE WHEN n % 3 = 0 THEN n / 4 ELSE 0 END',
  'files.trashed_at': `CASE WHEN n % 5 = 0 THEN ${LATER} + n ELSE 0 END`,
  'dirs.owner': "'zzmany' || n",
  'accounts.username': "'zzmany' || n",
  'sessions.username': "'zzmany' || n",
  'shares.owner': "'zzmany' || n",
  'requests.owner': "'zzmany' || n",
  'shares.recipient_id': "'zzmany' || n",
  'usage.owner': "'zzmany' || n / 2",
  'usage.dir_id': 'CASE WHEN n % 2 = 0 THEN -1 ELSE n END',
  'transfers.status': "'done'",
  'transfers.creator': "'zzmany' || n / 4",
  'account_documents.rev': '1',
  'account_documents.written': '1',
  'pulls.lease_until': '0',
};

/** Rows of any kind in every table that grows, so many that PostgreSQL has to choose. */
async function fillPostgres(sql: SqlStore, large: string[]): Promise<void> {
  for (const table of large) {
    const columns = await sql.query<{ name: string; type: string }>(
      `SELECT column_name AS name, data_type AS type FROM information_schema.columns
       WHERE table_schema = current_schema() AND table_name = ? AND is_nullable = 'NO' ORDER BY ordinal_position`,
      table,
    );
    const values = columns.map(({ name, type }) => {
      const known = VALUES[`${table}.${name}`];
      if (known !== undefined) return known;
      if (type === 'text') return `md5('${name}' || n)`;
      return /_(at|before|until|seen)$/.test(name) ? `${LATER} + n` : `n + 1000000`;
    });
    const names = columns.map(({ name }) => name).join(', ');
    await sql.execute(
      `INSERT INTO ${table} (${names}) SELECT ${values.join(', ')} FROM generate_series(1, ${MANY}) AS n`,
    );
  }
  await sql.execute('ANALYZE');
}

/** What no other test of the contract asks for. */
async function askTheRest(stores: Stores, statements: Statement[]): Promise<void> {
  const sql = recording(stores.sql, statements);
  const metadata = new Metadata(sql);
  const { accounts, dirs, fileChanges, files, garbage, pulls, receivedVolumes, sessions, transfers } =
    metadata;
  const [ann, token] = [fresh('u'), fresh('t')];
  const fileId = await filed(stores.one, ann);
  await openSession({ sql }, token, ann, 5);
  // Whoever calls.
  await metadata.lookUpUsage().session(token);
  await dirs.lookUp().session(token);
  await transfers.lookUp(fresh('t')).session(token);
  await files.lookUp(fileId, 1).session(token);
  await sessions.get(token);
  await sessions.list(ann);
  await accounts.credentials(ann);
  await metadata.recoveries.find(token, 1);
  await metadata.audit.list(10, ann);
  // A change of password, and the end of an account.
  const who = fresh('u');
  await accounts.create(who, 'hash', 1);
  const before = { username: who, passwordHash: 'hash', keys: undefined };
  const secrets = { passwordHash: 'hash', keys: 'k', recoveryHash: 'r' };
  assert.ok(await accounts.changePassword(before, secrets, { tokenHash: '-', now: 1 }));
  assert.ok(await metadata.recoveries.begin(who, 'r', fresh('t'), 9));
  await filed(metadata, who);
  const leaving = (await metadata.deletions.begin(who, { actor: 'operator', now: 1 }))!;
  await metadata.deletions.openTransfers(leaving, 10);
  await metadata.deletions.release(leaving);
  assert.equal(await metadata.deletions.removeFiles(leaving, 1, 10), 1);
  await metadata.deletions.removeDir(leaving);
  assert.ok(await metadata.deletions.finish(leaving));
  // Operators.
  await metadata.accountRecords.list(ann, 10);
  await metadata.accountRecords.get(ann);
  await metadata.accountRecords.activity(ann);
  await metadata.accountRecords.setLimits(ann, { pulls: 3 }, 1, 'operator');
  await metadata.accountRecords.logout(fresh('u'), 1, 'operator');
  await metadata.audit.list(10);
  await metadata.transfers.listOpen({ touchedAt: 1, fileId: '' }, 10);
  await metadata.transfers.listOpen({ touchedAt: 1, fileId: '' }, 10, ann);
  await metadata.transfers.getByFile(fileId);
  await metadata.store.setReadOnly(true, 1, 'operator');
  await metadata.store.setReadOnly(false, 1, 'operator');
  await metadata.invitations.count();
  await metadata.invitations.expire(1);
  await metadata.shares.listOpen('', 10);
  await metadata.shares.expire(1, 1);
  await metadata.requests.listOpen('', 10);
  await metadata.requests.expire(1, 1);
  await metadata.requests.abandonedUploads(1, 10);
  await metadata.shares.listReceived(fresh('u'), 1);
  await metadata.shares.endReceived(fresh('s'), fresh('u'), 1);
  await metadata.deletions.endReceived({ username: fresh('u'), account_id: fresh('u') }, 1, 10);
  // Lists and sums.
  const dirId = (await dirs.create(ann, 'd', 1))!;
  for (const caller of [ann, ADMIN]) {
    await files.list(caller, { limit: 10 });
    await files.list(caller, { limit: 10, dirId });
    await dirs.list(caller);
    await metadata.trash.put(caller, [fileId], LATER);
    await metadata.trash.list(caller, { limit: 10 });
    await metadata.trash.list(caller, { limit: 10, dirId, before: { trashedAt: LATER, seq: 5 } });
    await metadata.trash.restore(caller, [fileId]);
    await metadata.trash.empty(caller, [fileId], 1);
    await metadata.lookUpUsage().admin();
  }
  await files.locations([fileId]);
  await metadata.trash.expire(1, 1, 10);
  await dirs.remove(ann, dirId);
  // Limits.
  const bounds = { quota: 10_000, open: { transfers: 1, volumes: 1 } };
  const at = { transferId: fresh('t'), fileId: newId(), creator: ann, now: NOW };
  assert.equal(await transfers.create(newTransfer(), at, bounds), 'created');
  await transfers.beginStoringWithin(10_000, at.transferId, fresh('u'));
  const clone = { fileId: newId(), owner: ann, dirId: 0, leaseUntil: 1 };
  assert.equal(await fileChanges.beginClone((await files.get(fileId))!, clone, 10_000), 'begun');
  // A start, and rounds of cleaning up.
  await metadata.streamed.releaseAllClaims();
  await receivedVolumes.expire();
  await pulls.expire(1);
  await accounts.expire(1);
  await sessions.expire(1, 1);
  await metadata.recoveries.expire(1);
  await metadata.audit.expire(1);
  await metadata.deletions.listPending(10);
  await transfers.storing();
  await transfers.untouchedSince(1, 10);
  await garbage.dueClones(1);
  await garbage.take(1, 2, 10);
  await garbage.forget(clone.fileId);
  await new TotalsCount(metadata).step();
  // A scrape, and commands.
  await storeSamples(metadata);
  for (const table of Object.keys(tables) as TableName[]) {
    for await (const _ of rowsOf(sql, table)) break;
    for await (const _ of rowsOf(sql, table, ['files', 'dirs', 'audit_log'].includes(table) ? 1 : 'x')) break;
  }
  for await (const owner of findWrongUsage(sql)) assert.fail(`the sums of ${owner}`);
  await repairUsage(sql, ann);
  await sessions.close(token);
  await metadata.store.contest(1);
}

/** The last of the contract: `statements` are those that all tests before it have run. */
export function everyPlanContract(stores: Stores, statements: Statement[]): void {
  test('no statement of the server reads a large table from end to end', async () => {
    await askTheRest(stores, statements);
    const large = await largeTables(stores.sql);
    assert.ok(large.length > 12, `${large}`);
    if (isPostgres(stores.sql)) await fillPostgres(stores.sql, large);
    const texts = new Map(statements.map((statement) => [statement.text, statement]));
    const explained = [...texts.values()].filter(({ text }) =>
      /^(SELECT|INSERT|UPDATE|DELETE|WITH)\b/.test(text),
    );
    assert.ok(explained.length > 100, `${explained.length} statements`);
    const found: string[] = [];
    for (const statement of explained) {
      for (const scan of await scans(stores.sql, statement, large))
        found.push(`${scan} <- ${statement.text}`);
    }
    assert.deepEqual(found, []);
    for (const [pattern, why] of MAY_SCAN) {
      assert.ok(
        [...texts.keys()].some((text) => pattern.test(text)),
        `there is no such statement any more: ${pattern} (${why})`,
      );
    }
  });
}

export function plansContract(stores: Stores): void {
  test('wrong sums are found page by page, however many accounts there are', async () => {
    const insert = `INSERT INTO usage (owner, dir_id, files, bytes_high, bytes_low, counted_high, counted_low, rev)
      VALUES (?, ?, ?, 0, ?, 0, 0, 0)`;
    const many = Array.from({ length: 450 }, (_, at) => `many_${String(at).padStart(4, '0')}`);
    await stores.sql.transaction(async (tx) => {
      for (const owner of many) for (const dir of [-1, 0]) await tx.execute(insert, owner, dir, 0, 0);
    });
    // Of each kind one: files counted that are not there, bytes, a file that is not counted, and the owner of those without.
    const [files, bytes, missing] = [many[0]!, many[449]!, fresh('z')];
    await stores.sql.execute('UPDATE usage SET files = 1 WHERE owner = ? AND dir_id = 0', files);
    await stores.sql.execute('UPDATE usage SET bytes_low = 5 WHERE owner = ? AND dir_id = -1', bytes);
    await filed(stores.one, missing, { now: NOW });
    await stores.sql.execute('DELETE FROM usage WHERE owner = ?', missing);
    const empty = { owner: '', size: 0, stored_size: 0, extra: 0 };
    await moveUsage(stores.sql, [{ ...empty, from: 'nowhere', to: 0 }]);
    const statements: Statement[] = [];
    const found = await Array.fromAsync(findWrongUsage(recording(stores.sql, statements)));
    assert.deepEqual(found, ['', files, bytes, missing]);
    assert.ok(Math.max(...statements.map(({ rows }) => rows)) <= 200, 'never all of them at once');
    for (const owner of found) await repairUsage(stores.sql, owner);
    assert.deepEqual(await Array.fromAsync(findWrongUsage(stores.sql)), []);
    assert.equal((await usageOf(stores.sql, missing)).bytes, 10n);
    await stores.sql.execute("DELETE FROM usage WHERE owner LIKE 'many_%'");
  });
}
