/** One file, although a long one: its tests share a PostgreSQL, whose start costs more than most of them. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import pg from 'pg';
import { Postgres } from '../../tests/engines/postgres.ts';
import { anyText } from '../../tests/harness/any-text.ts';
import { Metadata } from '../src/metadata.ts';
import { ConfigError, StoreUnavailable } from '../src/platform/errors.ts';
import { PostgresStore, parsePostgresUrl } from '../src/platform/sql/postgres.ts';
import { ReadConnections } from '../src/platform/sql/postgres-reads.ts';
import { migrate } from '../src/schema.ts';
import { metadataContract } from './metadata.contract.ts';
import { begin, finish, fresh, NOW, newId, newTransfer } from './metadata.fixture.ts';

let server: Postgres;
let schemas = 0;
before(async () => {
  server = await Postgres.start();
});
after(() => server.stop());

async function open(url: string): Promise<PostgresStore> {
  const store = new PostgresStore(url);
  await store.prepare();
  return store;
}

const newSchema = () => `${server.url}?schema=s${++schemas}`;

metadataContract('PostgreSQL', async () => {
  const url = newSchema();
  return { open: () => open(url), destroy: async () => undefined };
});

test('values arrive as they were sent, on every run of a statement, and an error ends only its own', async () => {
  const store = await open(newSchema());
  const text = 'SELECT CAST(? AS TEXT) AS one, CAST(? AS BIGINT) AS two, CAST(? AS TEXT) AS three';
  const value = fc.option(anyText(300));
  const row = fc.record({ one: value, two: fc.option(fc.maxSafeInteger()), three: value });
  const printable = (sent: string | null) => sent?.replaceAll('\0', '\ufffd') ?? null;
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 8 }), async (rows) => {
      const answers = rows.map(({ one, two, three }) => store.query(text, one, two, three));
      const failing = assert.rejects(store.query('SELECT CAST(? AS BIGINT) AS none', 'x'), /bigint/);
      const [after] = await store.query('SELECT CAST(? AS TEXT) AS one', 'after');
      assert.deepEqual(after, { one: 'after' });
      await failing;
      for (const [at, { one, two, three }] of rows.entries()) {
        assert.deepEqual(await answers[at], [{ one: printable(one), two, three: printable(three) }]);
      }
    }),
    { numRuns: 60 },
  );
  await store.close();
});

test('a transaction is whole or nothing, whether its statements are known or not', async () => {
  const store = await open(newSchema());
  await store.execute('CREATE TABLE t (n BIGINT PRIMARY KEY CHECK (n < 100))');
  const insert = (n: number, then?: () => never) =>
    store.transaction(async (tx) => {
      await tx.execute('INSERT INTO t (n) VALUES (?)', n);
      await tx.execute('INSERT INTO t (n) VALUES (?)', n + 1);
      then?.();
      return tx.query('SELECT n FROM t WHERE n >= ? ORDER BY n', n);
    });
  const fail = () => {
    throw new Error('enough');
  };
  for (let n = 0; n < 40; n += 4) {
    await assert.rejects(insert(n, fail), /enough/);
    await assert.rejects(insert(99), /check/, 'the second statement');
    await assert.rejects(insert(100), /check/, 'the first');
    assert.deepEqual(await insert(n), [{ n }, { n: n + 1 }]);
  }
  assert.equal((await store.query('SELECT n FROM t')).length, 20);
  await store.close();
});

test('files that are sent together, in any order, and by themselves as well never hold what another one of them waits for', async () => {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  // The count is that of a database; a connection that ends has told its own.
  await client.query('CREATE DATABASE together');
  const url = new URL(server.url);
  url.pathname = 'together';
  const stores = [await open(url.href), await open(url.href)];
  await migrate(stores[0]!);
  for (const quota of [undefined, 1e9]) {
    for (let round = 0; round < 4; round++) {
      const users = [fresh('u'), fresh('u')];
      const ids = Array.from({ length: 8 }, () => fresh('t'));
      const create = (transferIds: string[], at: number) =>
        new Metadata(stores[at % 2]!).transfers.createDone(
          transferIds.map((transferId) => ({
            init: newTransfer(),
            ids: { transferId, fileId: newId(), creator: users[at % 3 ? 0 : 1]!, now: NOW },
          })),
          quota,
        );
      const many = [ids, ids.toReversed(), ids.toReversed(), ids, ...ids.map((id) => [id])].map(create);
      assert.equal((await Promise.all(many)).flat().filter((result) => result === 'created').length, 8);
    }
  }
  for (const store of stores) await store.close();
  const { rows } = await client.query("SELECT deadlocks FROM pg_stat_database WHERE datname = 'together'");
  await client.end();
  assert.deepEqual(rows, [{ deadlocks: '0' }]);
});

/** Between a store and the server; when it falls silent, what is connected then hears nothing more, and is not told. */
async function relayed(t: TestContext): Promise<{ url: string; fallSilent: () => void }> {
  const { hostname, port } = new URL(server.url);
  const sockets: Socket[] = [];
  const relay = createServer((near) => {
    const far = connect(Number(port), hostname);
    sockets.push(
      near.on('error', () => far.destroy()),
      far.on('error', () => near.destroy()),
    );
    near.pipe(far).pipe(near);
  });
  await once(relay.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    relay.close();
    for (const socket of sockets) socket.destroy();
  });
  const address = new URL(server.url);
  address.host = `127.0.0.1:${(relay.address() as AddressInfo).port}`;
  return {
    url: address.href,
    fallSilent: () => {
      for (const socket of sockets) socket.unpipe().pause();
    },
  };
}

test('a server that falls silent is given up, and asked again on a new connection', async (t) => {
  const { url, fallSilent } = await relayed(t);
  const reads = new ReadConnections(parsePostgresUrl(url).config, 1, 300);
  t.after(() => reads.close());
  const read = (value: string) => reads.query('SELECT CAST(? AS TEXT) AS one', [value]);
  assert.deepEqual(await read('before'), [{ one: 'before' }]);
  fallSilent();
  const silent = await Promise.allSettled([read('a'), read('b'), read('c')]);
  assert.ok(silent.every(({ status }) => status === 'rejected'));
  assert.deepEqual(await read('after'), [{ one: 'after' }]);
  // Time alone is no silence.
  await sleep(700);
  assert.deepEqual(await read('later'), [{ one: 'later' }]);
});

test('a server that falls silent keeps nobody from ending: not by a goodbye, a lock or a statement without a limit', async (t) => {
  const { url, fallSilent } = await relayed(t);
  const [idle, busy] = [new PostgresStore(url), new PostgresStore(url, { unlimited: true })];
  for (const store of [idle, busy]) {
    await store.query('SELECT 1 AS one');
    await store.execute('SELECT 1 AS one');
  }
  const lock = await idle.tryLock('silence');
  fallSilent();
  const lost = assert.rejects(busy.execute('SELECT 1 AS one'), StoreUnavailable);
  // The pool gives it a connection in the next turn.
  await new Promise(setImmediate);
  const ended = Promise.all([idle.close(), busy.close(), lock!.release(), lost]).then(() => 'ended');
  assert.equal(await Promise.race([ended, sleep(30_000, 'waits', { ref: false })]), 'ended');
});

test('a change whose answer was lost is not made again', async (t) => {
  const url = newSchema();
  const direct = await open(url);
  await direct.execute('CREATE TABLE t (n BIGINT)');
  let lost = '';
  // Passes everything on but the answer to that text, with which the connection ends.
  const relay = createServer((near) => {
    const far = connect(Number(new URL(url).port), new URL(url).hostname);
    let isLast = false;
    near.on('data', (bytes: Buffer) => {
      isLast ||= lost !== '' && bytes.includes(lost);
      far.write(bytes);
    });
    far.on('data', (bytes: Buffer) => {
      if (!isLast) near.write(bytes);
      else near.destroy();
      if (isLast) lost = '';
    });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const)
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
  });
  await once(relay.listen(0, '127.0.0.1'), 'listening');
  const address = new URL(url);
  address.host = `127.0.0.1:${(relay.address() as AddressInfo).port}`;
  const store = new PostgresStore(address.href);
  t.after(async () => {
    await Promise.all([store.close(), direct.close()]);
    relay.close();
  });
  const insert = (n: number) => store.transaction((tx) => tx.execute('INSERT INTO t (n) VALUES (?)', n));
  await insert(0);
  lost = 'COMMIT';
  await assert.rejects(insert(1), StoreUnavailable);
  lost = 'INSERT';
  await assert.rejects(store.execute('INSERT INTO t (n) VALUES (?)', 2), StoreUnavailable);
  await insert(3);
  const rows = await direct.query('SELECT n FROM t ORDER BY n');
  assert.deepEqual(rows, [{ n: 0 }, { n: 1 }, { n: 2 }, { n: 3 }]);
});

test('of two transactions that wait for each other, the one that is given up is done again', async () => {
  const store = await open(newSchema());
  await store.execute('CREATE TABLE t (n BIGINT PRIMARY KEY, v BIGINT)');
  await store.execute('INSERT INTO t (n, v) VALUES (1, 0), (2, 0)');
  const met = Promise.withResolvers<void>();
  let begun = 0;
  const raise = (...order: number[]) =>
    store.transaction(async (tx) => {
      for (const n of order) {
        await tx.execute('UPDATE t SET v = v + 1 WHERE n = ?', n);
        if (++begun === 2) met.resolve();
        await met.promise;
      }
    });
  await Promise.all([raise(1, 2), raise(2, 1)]);
  assert.deepEqual(await store.query('SELECT v FROM t'), [{ v: 2 }, { v: 2 }]);
  await store.close();
});

test('many nodes may start at once on an empty database', async () => {
  const url = newSchema();
  const stores = await Promise.all(Array.from({ length: 6 }, () => open(url)));
  await Promise.all(stores.map((store) => migrate(store)));
  assert.equal((await stores[0]!.query('SELECT version FROM schema_version')).length, 1);
  await Promise.all(stores.map((store) => store.close()));
});

test('an enforced quota holds against many inits at once, on two nodes', async () => {
  const url = newSchema();
  const [one, two] = await Promise.all([open(url), open(url)]);
  await migrate(one);
  const nodes = [new Metadata(one), new Metadata(two)];
  const creator = fresh('u');
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, at) =>
      nodes[at % 2]!.transfers.create(
        newTransfer(),
        { transferId: fresh('t'), fileId: newId(), creator, now: NOW },
        { quota: 26 * 5 },
      ),
    ),
  );
  assert.equal(results.filter((result) => result === 'created').length, 5);
  await Promise.all(nodes.map((node) => node.close()));
});

test('of many clones to the root at once, one begins; none passes one that just ended', async () => {
  const url = newSchema();
  const [one, two] = await Promise.all([open(url), open(url)]);
  await migrate(one);
  const nodes = [new Metadata(one), new Metadata(two)];
  const { transferId, fileId } = await begin(nodes[0]!, 'ann');
  await nodes[0]!.transfers.beginStoring(transferId, 'ann');
  await finish(nodes[0]!, transferId);
  const source = (await nodes[0]!.files.get(fileId))!;
  const results = await Promise.all(
    Array.from({ length: 20 }, async (_, at) => {
      const target = { fileId: newId(), owner: 'ann', dirId: 0, leaseUntil: NOW, now: NOW };
      const { fileChanges } = nodes[at % 2]!;
      const begun = await fileChanges.beginClone(source, target);
      return begun === 'begun' ? fileChanges.finishClone(source, target) : begun;
    }),
  );
  assert.deepEqual(
    results.filter((result) => result !== 'exists'),
    ['done'],
  );
  await Promise.all(nodes.map((node) => node.close()));
});

test('a lock is held by one at a time and goes on when its holder is gone', async () => {
  const url = newSchema();
  const [one, two] = await Promise.all([open(url), open(url)]);
  const held = (await one.tryLock('x'))!;
  assert.equal(await held.confirm(), true);
  assert.equal(await two.tryLock('x'), undefined);
  const other = (await two.tryLock('y'))!;
  await held.release();
  assert.equal(await held.confirm(), false);
  const next = (await two.tryLock('x'))!;
  await two.execute(
    "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND database IS NOT NULL",
  );
  assert.equal(await next.confirm(), false);
  assert.equal(await other.confirm(), false);
  await Promise.all([next.release(), other.release(), one.close(), two.close()]);
});

test('what cannot be stored as text is found nowhere', async () => {
  const store = await open(newSchema());
  await migrate(store);
  const metadata = new Metadata(store);
  assert.equal(await metadata.transfers.get('a\0b'), undefined);
  assert.equal(await metadata.files.get('\ud800'), undefined);
  assert.equal(await metadata.files.get('x'.repeat(60_000)), undefined);
  await metadata.close();
});

test('a server that is killed under load loses nothing acknowledged; requests wait or get 503', async () => {
  const url = newSchema();
  const store = await open(url);
  await migrate(store);
  const metadata = new Metadata(store);
  const made: string[] = [];
  let stop = false;
  const load = Array.from({ length: 4 }, async () => {
    while (!stop) {
      const name = fresh('u');
      try {
        if (await metadata.accounts.create(name, 'h', 1)) made.push(name);
      } catch (error) {
        assert.ok(error instanceof StoreUnavailable, String(error));
      }
    }
  });
  for (let round = 0; round < 3; round++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    await server.kill9();
    await server.restart();
  }
  stop = true;
  await Promise.all(load);
  assert.ok(made.length > 0);
  for (const name of made)
    assert.equal((await metadata.accounts.credentials(name))?.password_hash, 'h', name);
  await metadata.close();
});

test('reads travel together; one that takes long keeps no other waiting', async () => {
  const store = await open(newSchema());
  const holder = new pg.Client({ connectionString: server.url });
  await holder.connect();
  await holder.query('SELECT pg_advisory_lock(1)');
  let ended = false;
  const slow = store.query('SELECT CAST(pg_advisory_lock(1) AS text)').then(() => {
    ended = true;
  });
  const waits = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
  for (const end = Date.now() + 30_000; (await holder.query(waits)).rowCount === 0; await sleep(20)) {
    assert.ok(Date.now() < end, 'it never came to wait');
  }
  // Until it counts as slow.
  await sleep(20);
  const many = await Promise.all(
    Array.from({ length: 200 }, (_, at) => store.query<{ at: string }>('SELECT CAST(? AS text) AS at', at)),
  );
  assert.equal(ended, false);
  // A statement that waits for a lock is given up after some seconds; it is not to wait for the rest of this test.
  await holder.end();
  await slow;
  assert.deepEqual(
    many.map(([row]) => row!.at),
    many.map((_, at) => String(at)),
  );
  // One that fails is alone with it.
  const results = await Promise.allSettled(
    [4, 0, 2].map((divisor) => store.query('SELECT 8 / CAST(? AS int) AS result', divisor)),
  );
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  await store.close();
});

test('where all reads take long, another one goes behind the one that stood still for the shortest time', async (t) => {
  const holder = new pg.Client({ connectionString: server.url });
  await holder.connect();
  await holder.query('SELECT pg_advisory_lock(2)');
  const reads = new ReadConnections(parsePostgresUrl(server.url).config, 2, 60_000);
  t.after(() => reads.close());
  const stuck = reads.query('SELECT CAST(pg_advisory_lock(2) AS text)', []);
  // Long enough to count as slow, and shorter than what is stuck.
  await sleep(50);
  const long = reads.query('SELECT CAST(pg_sleep(1) AS text)', []);
  await sleep(50);
  const first = await Promise.race([
    stuck.then(() => 'stuck'),
    reads.query<{ what: string }>("SELECT 'read' AS what", []).then(([row]) => row!.what),
    sleep(8000, 'nothing', { ref: false }),
  ]);
  await holder.end();
  await Promise.all([stuck, long]);
  assert.equal(first, 'read');
});

test('no read is answered with what was true before it was asked', async () => {
  const store = await open(newSchema());
  await store.execute('CREATE TABLE counter AS SELECT 0 AS value');
  const read = async () => (await store.query<{ value: number }>('SELECT value FROM counter'))[0]!.value;
  for (let value = 1; value <= 100; value++) {
    const earlier = [read(), read()];
    await store.execute('UPDATE counter SET value = ?', value);
    const answers = await Promise.all([...earlier, read(), read()]);
    assert.deepEqual(answers.slice(2), [value, value]);
  }
  await store.close();
});

test('reads whose connection is lost are done on another one', async () => {
  const store = await open(newSchema());
  let stop = false;
  const load = Array.from({ length: 4 }, async () => {
    while (!stop) assert.equal((await store.query<{ one: number }>('SELECT 1 AS one'))[0]!.one, 1);
  });
  for (let round = 0; round < 5; round++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    await store.execute(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname IS NOT NULL',
    );
  }
  stop = true;
  await Promise.all(load);
  await store.close();
});

test('a server that is not there is told as such, in bounded time', async () => {
  const store = new PostgresStore('postgres://postgres@127.0.0.1:1/postgres');
  const since = Date.now();
  await assert.rejects(store.query('SELECT 1'), StoreUnavailable);
  assert.ok(Date.now() - since < 10_000);
  await store.close();
});

test('a server that does not keep what it acknowledges is refused', async () => {
  const store = new PostgresStore(server.url);
  for (const setting of ['fsync', 'full_page_writes', 'synchronous_commit']) {
    await store.execute(`ALTER SYSTEM SET ${setting} = off`);
    await store.execute('SELECT pg_reload_conf()');
    // The signal takes a moment to reach the connections.
    await new Promise((resolve) => setTimeout(resolve, 200));
    await assert.rejects(
      store.prepare(),
      (error) => error instanceof ConfigError && error.message.includes(setting),
    );
    await store.execute(`ALTER SYSTEM RESET ${setting}`);
    await store.execute('SELECT pg_reload_conf()');
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  await store.prepare();
  await store.close();
});

test('an address names a schema of plain letters, or none', () => {
  assert.equal(parsePostgresUrl('postgres://h/d').schema, undefined);
  assert.equal(parsePostgresUrl('postgres://h/d?schema=a_1').schema, 'a_1');
  assert.throws(() => parsePostgresUrl('postgres://h/d?schema=a;drop'), ConfigError);
});
