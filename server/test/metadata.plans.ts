import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ADMIN } from '@szafa/protocol';
import { Metadata } from '../src/metadata/metadata.ts';
import type { Sql, SqlStore, Value } from '../src/metadata/sql.ts';
import { addUsage, mendUsage, wrongUsage } from '../src/metadata/usage.ts';
import { storeSamples } from '../src/metrics/node.ts';
import type { Stores } from './metadata.contract.ts';
import { filed, fresh, NOW, newId, newTransfer, openSession, puller } from './metadata.fixture.ts';

/** Tables that grow with accounts or files, by the names that statements give them. */
const LARGE: Record<string, string> = {
  ...{ users: 'users', sessions: 'sessions', s: 'sessions', login_failures: 'login_failures' },
  ...{
    dirs: 'dirs',
    d: 'dirs',
    files: 'files',
    f: 'files',
    volume_blocks: 'volume_blocks',
    b: 'volume_blocks',
  },
  ...{ usage: 'usage', u: 'usage', transfers: 'transfers', t: 'transfers', garbage: 'garbage' },
  ...{
    g: 'garbage',
    pulls: 'pulls',
    a: 'users',
    c: 'users',
    o: 'transfers',
    recoveries: 'recoveries',
    r: 'recoveries',
    audit: 'audit',
  },
};
/** Hold only what is under way, so they may be read from end to end. */
const SMALL_INDEXES = ['transfers_open', 'pulls_running', 'users_leaving'];

interface Statement {
  text: string;
  params: Value[];
  rows: number;
}

/** Notes every statement, and how many rows it gave. */
function recording(sql: SqlStore, statements: Statement[]): SqlStore {
  const wrap = <S extends Sql>(inner: S): S => {
    const run =
      (kind: 'query' | 'execute') =>
      async <Row>(text: string, ...params: Value[]) => {
        const rows = await inner[kind]<Row>(text, ...params);
        statements.push({ text, params, rows: rows.length });
        return rows;
      };
    const transaction = <T>(work: (tx: Sql) => Promise<T>) => inner.transaction((tx) => work(wrap(tx)));
    return { dialect: inner.dialect, query: run('query'), execute: run('execute'), transaction } as Sql as S;
  };
  return wrap(sql);
}

/** The large tables that a statement reads from end to end. */
async function scans(sql: SqlStore, { text, params }: Statement): Promise<string[]> {
  return sql.dialect.clustered === '' ? scansOfPostgres(sql, text, params) : scansOfSqlite(sql, text, params);
}

async function scansOfSqlite(sql: SqlStore, text: string, params: Value[]): Promise<string[]> {
  const plan = await sql.execute<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`, ...params);
  return plan.flatMap(({ detail }) => {
    const [, table = ''] = /^SCAN (\w+)/.exec(detail) ?? [];
    return LARGE[table] && !SMALL_INDEXES.some((index) => detail.endsWith(`INDEX ${index}`))
      ? [LARGE[table]]
      : [];
  });
}

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Index Cond'?: string;
  Plans?: Plan[];
}

async function scansOfPostgres(sql: SqlStore, text: string, params: Value[]): Promise<string[]> {
  const found: string[] = [];
  const walk = (plan: Plan) => {
    const { 'Node Type': type, 'Relation Name': table = '', 'Index Name': index } = plan;
    const reads = /^(Seq|Index|Index Only) Scan$/.test(type) && plan['Index Cond'] === undefined;
    if (reads && LARGE[table] && !SMALL_INDEXES.includes(index ?? '')) found.push(table);
    for (const part of plan.Plans ?? []) walk(part);
  };
  await sql.transaction(async (tx) => {
    // With a handful of rows it would read them all, whatever indexes there are.
    await tx.execute('SET LOCAL enable_seqscan = off');
    const [row] = await tx.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(
      `EXPLAIN (FORMAT JSON) ${text}`,
      ...params,
    );
    walk(row!['QUERY PLAN'][0]!.Plan);
  });
  return found;
}

export function plansContract(stores: Stores): void {
  test('what is asked all the time, or of all accounts, reads no large table from end to end', async () => {
    const statements: Statement[] = [];
    const sql = recording(stores.sql, statements);
    const metadata = new Metadata(sql);
    const { accounts, dirs, files, garbage, pulls, sessions, transfers } = metadata;
    const [ann, token] = [fresh('u'), fresh('t')];
    const fileId = await filed(stores.one, ann);
    await openSession({ sql }, token, ann, 5);
    await accounts.countFailure(ann, '::1', 1, 1);
    // Whoever calls.
    await sessions.get(token);
    await sessions.list(ann);
    await metadata.lookUpUsage().session(token);
    await dirs.lookUp().session(token);
    await transfers.lookUp(fresh('t')).session(token);
    await files.lookUp(fileId, 1).session(token);
    await accounts.failures(ann, '::1');
    await accounts.credentials(ann);
    await metadata.recoveries.find(token, 1);
    await metadata.audit.list({ account: ann, limit: 10 });
    // A change of password, and the end of an account.
    const who = fresh('u');
    await accounts.create(who, 'hash', 1);
    const before = { username: who, proven: 'hash', expected: undefined };
    const secrets = { passwordHash: 'hash', keys: 'k', recoveryHash: 'r' };
    assert.ok(await accounts.changePassword(before, secrets, { tokenHash: '-', now: 1 }));
    assert.ok(await metadata.recoveries.begin(who, 'r', fresh('t'), 9));
    await filed(metadata, who);
    const leaving = (await metadata.departures.begin(who, { actor: 'operator', now: 1 }))!;
    await metadata.departures.openTransfers(leaving, 10);
    await metadata.departures.release(leaving);
    assert.equal(await metadata.departures.removeFiles(leaving, 1, 10), 1);
    await metadata.departures.removeDir(leaving);
    assert.ok(await metadata.departures.finish(leaving));
    // Operators.
    await metadata.accountRecords.list(ann, 10);
    await metadata.accountRecords.get(ann);
    await metadata.accountRecords.activity(ann);
    await metadata.accountRecords.setLimits(ann, { pulls: 3 }, 1, 'operator');
    await metadata.accountRecords.logout(fresh('u'), 1, 'operator');
    await metadata.audit.list({ limit: 10 });
    await transfers.listOpen({ touchedAt: 1, fileId: '' }, 10);
    await transfers.listOpen({ touchedAt: 1, fileId: '' }, 10, ann);
    await transfers.ofFile(fileId);
    await metadata.store.setReadOnly(true, 1, 'operator');
    await metadata.store.setReadOnly(false, 1, 'operator');
    await accounts.loginAttempts(ann);
    // Lists and sums.
    const dirId = (await dirs.create(ann, 'd', 1))!;
    for (const caller of [ann, ADMIN]) {
      await files.list(caller, { limit: 10 });
      await files.list(caller, { limit: 10, dirId });
      await metadata.usage(caller);
    }
    await dirs.list(ann);
    await dirs.remove(ann, dirId);
    // Limits.
    const bounds = { quota: 10_000, open: { transfers: 1, volumes: 1 } };
    const at = { transferId: fresh('t'), fileId: newId(), creator: ann, now: NOW };
    assert.equal(await transfers.create(newTransfer(), at, bounds), 'created');
    const lease = { now: 1, leaseUntil: 2 };
    assert.equal(
      await pulls.claim(at.transferId, puller('r', ann), lease, { account: 1, node: 1 }),
      'claimed',
    );
    await pulls.end(at.transferId, 'r', '');
    await transfers.beginStoringWithin(10_000, at.transferId, fresh('u'));
    const clone = { fileId: newId(), owner: ann, dirId: 0, leaseUntil: 1 };
    assert.equal(await files.beginClone((await files.get(fileId))!, clone, 10_000), 'begun');
    await garbage.forget(clone.fileId);
    // Rounds of cleaning up.
    await pulls.expire(1);
    await accounts.expire(1);
    await sessions.expire(1, 1);
    await metadata.recoveries.expire(1);
    await metadata.audit.expire(1);
    await metadata.departures.leaving(10);
    await transfers.storing();
    await transfers.untouchedSince(1, 10);
    await garbage.take(1, 2, 10);
    await garbage.isKnown(newId());
    // A scrape; what waits to be removed is few.
    const scraped = statements.length;
    await storeSamples(metadata);
    const counted = statements.splice(scraped).filter(({ text }) => !/FROM garbage$/.test(text));
    // Sums over the files.
    for await (const owner of wrongUsage(sql)) assert.fail(`the sums of ${owner}`);
    await mendUsage(sql, ann);
    for (const statement of [...statements, ...counted]) {
      assert.deepEqual(await scans(stores.sql, statement), [], statement.text);
    }
    assert.ok(statements.length > 25, `${statements.length} statements`);
    await sessions.close(token);
    await accounts.clearFailures(ann, '::1');
  });

  test('wrong sums are found page by page, however many accounts there are', async () => {
    const insert = `INSERT INTO usage (owner, dir_id, files, bytes_high, bytes_low, counted_high, counted_low)
      VALUES (?, ?, ?, 0, ?, 0, 0)`;
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
    await addUsage(stores.sql, '', 0, { files: 1, bytes: 0, counted: 0 });
    const statements: Statement[] = [];
    const found = await Array.fromAsync(wrongUsage(recording(stores.sql, statements)));
    assert.deepEqual(found, ['', files, bytes, missing]);
    assert.ok(Math.max(...statements.map(({ rows }) => rows)) <= 200, 'never all of them at once');
    for (const owner of found) await mendUsage(stores.sql, owner);
    assert.deepEqual(await Array.fromAsync(wrongUsage(stores.sql)), []);
    assert.equal((await stores.one.usage(missing)).bytes, 10n);
    await stores.sql.execute("DELETE FROM usage WHERE owner LIKE 'many_%'");
  });
}
