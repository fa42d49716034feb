import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ADMIN } from '@szafa/protocol';
import { Metadata } from '../src/metadata.ts';
import { ConfigError } from '../src/platform/errors.ts';
import type { SqlStore } from '../src/platform/sql/sql.ts';
import { migrate, requireVersion } from '../src/schema.ts';
import { VERSION } from '../src/version.ts';
import { accountsContract } from './metadata.accounts.ts';
import { checksContract } from './metadata.checks.ts';
import { deletionsContract } from './metadata.deletions.ts';
import { documentsContract } from './metadata.documents.ts';
import { filesContract } from './metadata.files.ts';
import {
  begin,
  type Database,
  DIGEST,
  filed,
  fresh,
  NOW,
  openSession,
  PLENTY,
  puller,
} from './metadata.fixture.ts';
import { usageModel } from './metadata.model.ts';
import { operatorContract } from './metadata.operator.ts';
import { passkeysContract } from './metadata.passkeys.ts';
import { everyPlanContract, plansContract, recording, type Statement } from './metadata.plans.ts';
import { receivedContract } from './metadata.received.ts';
import { requestsContract } from './metadata.requests.ts';
import { sessionsContract } from './metadata.sessions.ts';
import { sharesContract } from './metadata.shares.ts';
import { stormContract } from './metadata.storm.ts';
import { streamedContract } from './metadata.streamed.ts';
import { transfersContract } from './metadata.transfers.ts';
import { trashContract } from './metadata.trash.ts';

/** Two stores on one database, as two processes have them; a third one to look with. */
export interface Stores {
  one: Metadata;
  two: Metadata;
  sql: SqlStore;
}

/** What every metadata store must do, whatever engine is behind it. */
export function metadataContract(engine: string, create: () => Promise<Database>): void {
  describe(`metadata store on ${engine}`, () => {
    let database: Database;
    const stores = {} as Stores;
    const statements: Statement[] = [];

    before(async () => {
      database = await create();
      stores.sql = await database.open();
      await migrate(stores.sql);
      stores.one = new Metadata(recording(await database.open(), statements));
      stores.two = new Metadata(recording(await database.open(), statements));
    });
    after(async () => {
      await Promise.all([stores.one.close(), stores.two.close(), stores.sql.close()]);
      await database.destroy();
    });

    schemaContract(() => database);
    transactionContract(stores, () => database);
    accountsContract(stores);
    sessionsContract(stores);
    dirsContract(stores);
    pullsContract(stores);
    transfersContract(stores);
    streamedContract(stores);
    filesContract(stores);
    documentsContract(stores);
    operatorContract(stores);
    passkeysContract(stores);
    deletionsContract(stores);
    trashContract(stores);
    sharesContract(stores);
    receivedContract(stores);
    requestsContract(stores);
    usageModel(stores);
    stormContract(stores);
    checksContract(stores);
    plansContract(stores);
    everyPlanContract(stores, statements);

    test('answers a ping', () => stores.one.ping());
  });
}

function schemaContract(database: () => Database): void {
  test('migrating again changes nothing, and processes may do it at once', async () => {
    const open = await Promise.all([database().open(), database().open(), database().open()]);
    await Promise.all(open.map((sql) => migrate(sql)));
    const rows = await open[0]!.query<{ version: number }>('SELECT version FROM schema_version');
    assert.equal(rows.length, 1);
    await Promise.all(open.map((sql) => sql.close()));
  });

  test('a database of a later version is refused', async () => {
    const sql = await database().open();
    const [{ version } = { version: 0 }] = await sql.query<{ version: number }>(
      'SELECT version FROM schema_version',
    );
    await sql.execute("UPDATE schema_version SET version = ?, szafa_version = '99.1.0'", version + 1);
    for (const refuses of [migrate, requireVersion]) {
      await assert.rejects(refuses(sql), (error) => {
        assert.ok(error instanceof ConfigError);
        const named = [`version ${version + 1},`, 'szafa 99.1.0,', `szafa ${VERSION} `, `up to ${version}:`];
        for (const part of named) assert.ok(error.message.includes(part), error.message);
        return true;
      });
    }
    await sql.execute('UPDATE schema_version SET version = ?', version - 1);
    await assert.rejects(requireVersion(sql), ConfigError);
    await sql.execute('UPDATE schema_version SET version = ?', version);
    await requireVersion(sql);
    await sql.close();
  });
}

function transactionContract(stores: Stores, database: () => Database): void {
  const insert = 'INSERT INTO login_failures (username, address, failed_at, failures) VALUES (?, ?, ?, 1)';
  const find = 'SELECT username FROM login_failures WHERE username = ?';

  test('an error undoes the whole transaction and reaches the caller', async () => {
    const name = fresh();
    const fault = new Error('in the middle');
    const attempt = stores.sql.transaction(async (tx) => {
      await tx.execute(insert, name, 'h', 1);
      assert.equal((await tx.query(find, name)).length, 1, 'a transaction sees its own changes');
      throw fault;
    });
    await assert.rejects(attempt, fault);
    assert.deepEqual(await stores.sql.query(find, name), []);
    await stores.sql.transaction((tx) => tx.execute(insert, name, 'h', 1));
    assert.equal((await stores.sql.query(find, name)).length, 1, 'the store goes on after a failure');
  });

  test('a statement that fails inside undoes the whole transaction too', async () => {
    const name = fresh();
    const attempt = stores.sql.transaction(async (tx) => {
      await tx.execute(insert, name, 'h', 1);
      await tx.execute(insert, name, 'h', 1);
    });
    await assert.rejects(attempt, Error);
    assert.deepEqual(await stores.sql.query(find, name), []);
  });

  test('a transaction inside a transaction is part of it', async () => {
    const name = fresh();
    const attempt = stores.sql.transaction(async (tx) => {
      await tx.transaction((inner) => inner.execute(insert, name, 'h', 1));
      throw new Error('outer');
    });
    await assert.rejects(attempt, /outer/);
    assert.deepEqual(await stores.sql.query(find, name), []);
  });

  test('nobody sees what is not committed, on the same store or on another', async () => {
    const name = fresh();
    const other = await database().open();
    await stores.sql.transaction(async (tx) => {
      await tx.execute(insert, name, 'h', 1);
      assert.deepEqual(await stores.sql.query(find, name), []);
      assert.deepEqual(await other.query(find, name), []);
    });
    assert.equal((await other.query(find, name)).length, 1);
    await other.close();
  });

  test('read, then write: transactions of two stores never lose an update', async () => {
    const name = fresh();
    await stores.sql.execute(insert, name, 'h', 0);
    const other = await database().open();
    const add = (sql: SqlStore) =>
      sql.transaction(async (tx) => {
        const [row] = await tx.query<{ failed_at: number }>(
          `SELECT failed_at FROM login_failures WHERE username = ? ${tx.dialect.forUpdate}`,
          name,
        );
        const text = 'UPDATE login_failures SET failed_at = ? WHERE username = ?';
        await tx.execute(text, row!.failed_at + 1, name);
      });
    await Promise.all(Array.from({ length: 100 }, (_, at) => add(at % 2 ? stores.sql : other)));
    const [row] = await stores.sql.query('SELECT failed_at FROM login_failures WHERE username = ?', name);
    assert.deepEqual({ ...(row as object) }, { failed_at: 100 });
    await other.close();
  });
}

function dirsContract(stores: Stores): void {
  test('a directory name is unique for its owner, by exact text, also when many ask at once', async () => {
    const [ann, ben] = [fresh('u'), fresh('u')];
    const made = await Promise.all(
      Array.from({ length: 10 }, (_, at) => (at % 2 ? stores.one : stores.two).dirs.create(ann, 'Kurz', 7)),
    );
    const [dirId, ...more] = made.filter((id) => id !== undefined);
    assert.deepEqual(more, []);
    assert.equal(typeof (await stores.one.dirs.create(ben, 'Kurz', 7)), 'number');
    assert.equal(typeof (await stores.one.dirs.create(ann, 'kurz', 8)), 'number');
    const [first, second] = await stores.two.dirs.list(ann);
    assert.deepEqual(
      { ...first },
      { dir_id: dirId, name: 'Kurz', owner: ann, created_at: 7, file_count: 0, size: 0n },
    );
    assert.equal(second?.name, 'kurz');
  });

  test('a session is found together with the directories of its user', async () => {
    const { dirs } = stores.one;
    const [ann, token] = [fresh('u'), fresh('t')];
    const session = await openSession(stores, token, ann, 5);
    assert.deepEqual(await dirs.lookUp().session(token), { ...session, dirs: [] });
    for (const name of ['b', 'a'])
      await filed(stores.one, ann, { dirId: (await dirs.create(ann, name, 7))! });
    await filed(stores.one, ann);
    const listed = await dirs.list(ann);
    assert.deepEqual(
      listed.map(({ name, file_count }) => [name, file_count]),
      [
        ['b', 1],
        ['a', 1],
      ],
    );
    assert.deepEqual(await dirs.lookUp().session(token), { ...session, dirs: listed });
    assert.equal(await dirs.lookUp().session(fresh('t')), undefined);
  });

  test('only its owner removes a directory, once; its number is never given again', async () => {
    const ann = fresh('u');
    const dirId = (await stores.one.dirs.create(ann, 'd', 1))!;
    assert.equal(await stores.one.dirs.remove(ADMIN, dirId), false);
    assert.equal(await stores.one.dirs.remove(ann, 0), false);
    const removed = await Promise.all([
      stores.one.dirs.remove(ann, dirId),
      stores.two.dirs.remove(ann, dirId),
    ]);
    assert.deepEqual(removed.sort(), [false, true]);
    assert.deepEqual(await stores.one.dirs.list(ann), []);
    assert.notEqual(await stores.one.dirs.create(ann, 'd', 1), dirId);
  });
}

function pullsContract(stores: Stores): void {
  test('one runner at a time has the pull of a transfer, until its lease ends', async () => {
    const { transferId: id } = await begin(stores.one, fresh('u'));
    const claim = (store: Metadata, runner: string, now: number, leaseUntil: number) =>
      store.pulls.lease(id, puller(runner), { now, leaseUntil }, PLENTY);
    const claims = await Promise.all(
      Array.from({ length: 10 }, (_, at) => claim(at % 2 ? stores.one : stores.two, `r${at}`, 100, 200)),
    );
    assert.equal(claims.filter((result) => result === 'leased').length, 1);
    const winner = `r${claims.indexOf('leased')}`;
    assert.equal(await claim(stores.one, winner, 199, 300), 'running', 'nor a second time by itself');
    await stores.one.pulls.report(id, 'another', '1-9', 900);
    assert.equal(await stores.one.pulls.landed(id), '', 'only its runner reports');
    await stores.one.pulls.report(id, winner, '1-3,5', 200);
    assert.equal(await stores.two.pulls.landed(id), '1-3,5');
    assert.equal(await claim(stores.two, 'late', 201, 400), 'leased');
    assert.equal(await stores.one.pulls.landed(id), '1-3,5', 'what landed is still there');
    await stores.one.pulls.report(id, winner, DIGEST, 999);
    await stores.one.pulls.end(id, winner, DIGEST);
    assert.equal(await stores.one.pulls.landed(id), '1-3,5', 'the old runner has nothing to say any more');
    await stores.one.pulls.end(id, 'late', '1-6');
    assert.equal(await stores.two.pulls.landed(id), '1-6');
    assert.equal(await claim(stores.two, 'next', 202, 400), 'leased', 'one that has ended is free');
  });

  test('an account and a node have so many pulls at once and no more, however many ask at once', async () => {
    const [ann, node] = [fresh('u'), fresh('n')];
    const most = { account: 3, node: 5 };
    const ask = async (caller: string, at: string, now = 100) => {
      const { transferId } = await begin(stores.one, caller);
      const runner = fresh('r');
      const store = Math.random() < 0.5 ? stores.one : stores.two;
      const by = { caller, node: at, runner };
      const result = await store.pulls.lease(transferId, by, { now, leaseUntil: 200 }, most);
      return { transferId, runner, result };
    };
    const count = (asked: { result: string }[], result: string) =>
      asked.filter((one) => one.result === result).length;

    const ofAnn = await Promise.all(
      Array.from({ length: 8 }, (_, at) => ask(ann, at % 2 ? node : fresh('n'))),
    );
    assert.equal(count(ofAnn, 'leased'), 3);
    assert.equal(count(ofAnn, 'account'), 5);
    const refused = ofAnn.find(({ result }) => result === 'account')!;
    assert.equal(await stores.one.pulls.landed(refused.transferId), '');
    for (const { transferId, runner } of ofAnn) await stores.one.pulls.end(transferId, runner, '');

    const ofNode = await Promise.all(Array.from({ length: 9 }, () => ask(fresh('u'), node)));
    assert.equal(count(ofNode, 'leased'), 5);
    assert.equal(count(ofNode, 'node'), 4);
    assert.equal((await ask(ann, fresh('n'))).result, 'leased', 'another node has places');
    const ended = ofNode.find(({ result }) => result === 'leased')!;
    await stores.two.pulls.end(ended.transferId, ended.runner, '');
    assert.equal((await ask(ann, node)).result, 'leased');
    assert.equal((await ask(ann, node)).result, 'node');
    assert.equal((await ask(ann, node, 201)).result, 'leased', 'a lease that is over holds no place');
  });

  test('a pull of a transfer that is removed counts until it has ended', async () => {
    const ann = fresh('u');
    const most = { account: 1, node: 9 };
    const lease = { now: 100, leaseUntil: 200 };
    const [first, second] = [await begin(stores.one, ann), await begin(stores.one, ann)];
    const { pulls, transfers } = stores.one;
    const by = puller('r', ann);
    assert.equal(await pulls.lease(first.transferId, by, lease, most), 'leased');
    assert.equal(await transfers.remove(first.transferId, ['uploading'], NOW), true);
    assert.equal(await pulls.lease(second.transferId, by, lease, most), 'account');
    await pulls.end(first.transferId, 'r', '1');
    assert.equal(await pulls.landed(first.transferId), '', 'nothing is kept');
    assert.equal(await pulls.lease(second.transferId, by, lease, most), 'leased');
    await pulls.report(second.transferId, 'r', '1', 200);
    await transfers.remove(second.transferId, ['uploading'], NOW);
    await pulls.expire(200);
    assert.equal(await pulls.landed(second.transferId), '1');
    await pulls.expire(201);
    assert.equal(await pulls.landed(second.transferId), '', 'its process died');
  });

  test('the pulls of a dead runner can be claimed at once', async () => {
    const [first, second, third] = [fresh('t'), fresh('t'), fresh('t')];
    const { pulls } = stores.one;
    const dead = fresh('runner');
    const claim = (id: string, runner: string, now: number) =>
      pulls.lease(id, puller(runner), { now, leaseUntil: 10_000 }, PLENTY);
    await claim(first, dead, 100);
    await claim(second, dead, 100);
    await claim(third, 'alive', 100);
    await pulls.endLeases(dead);
    assert.equal(await claim(first, 'next', 101), 'leased');
    assert.equal(await claim(third, 'next', 101), 'running');
    await pulls.endLeases();
    assert.equal(await claim(second, 'next', 101), 'leased');
    assert.equal(await claim(third, 'next', 101), 'leased');
    assert.equal(await pulls.landed(fresh('t')), '');
  });
}
