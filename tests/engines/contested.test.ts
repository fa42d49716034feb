import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathOf } from '@szafa/protocol';
import pg from 'pg';
import {
  admin,
  assertOk,
  assertReadable,
  begin,
  complete,
  eventually,
  makeFile,
  putAll,
  register,
  Service,
  User,
  upload,
  usually,
} from '../harness/index.ts';
import { parseMetrics } from '../harness/metrics.ts';
import { useEngines } from './commands.ts';
import { House, KINDS } from './house.ts';

const engines = useEngines();
/** Time after which anything removable would be gone: a service on S3 removes nothing in the first twelve sweeps, one second each. */
const ROUNDS_MS = 16_000;

async function counted(service: Service, series: string): Promise<number | undefined> {
  const answer = await admin(service).get(pathOf('metrics'));
  assert.equal(answer.status, 200, answer.text);
  return parseMetrics(answer.text).get(series);
}

const isContested = (service: Service) =>
  eventually(async () => assert.equal(await counted(service, 'szafa_store_contested'), 1));

/** Asserts that no volume disappears in the time that its removal would take. */
async function assertAllStay(house: House, before: string[]): Promise<void> {
  await sleep(ROUNDS_MS);
  const now = new Set(await house.volumes());
  assert.deepEqual(
    before.filter((name) => !now.has(name)),
    [],
    'these are gone',
  );
}

const remove = async (user: User, fileId: string) =>
  assertOk(await user.delete(pathOf('deleteFile', { file_id: fileId })));

describe('a store that another database has had', { concurrency: 3 }, () => {
  for (const kind of usually(['SQLite and a folder', 'PostgreSQL and S3'] as const, KINDS)) {
    test(`a restored, older database serves, and removes nothing before somebody decides: ${kind}`, async () => {
      const house = new House(engines, kind, { SZ_TRANSFER_TTL: '2' });
      const service = await house.start();
      const user = await register(service);
      const old = await upload(user, makeFile([1000]));
      const under = makeFile([2000, 10]);
      const transferId = await begin(user, under);
      await putAll(user, transferId, under);
      await house.copyDatabase('backup');
      // After the backup, complete the upload, upload another file, and restart the service, which renews the mark in the store.
      const done = await complete(user, transferId);
      assertOk(done);
      const newer = await upload(user, makeFile([3000]));
      await house.start();
      await eventually(async () => assert.equal(await counted(service, 'szafa_store_contested'), 0));
      await sleep(2500);
      await service.terminate();
      const volumes = await house.volumes();

      await house.useDatabase('backup');
      await house.start();
      await isContested(service);
      await eventually(async () => assert.match(service.log, /the volume store is contested/));
      await assertReadable(user, old.fileId, old.file);
      await remove(user, old.fileId);
      const after = await upload(user, makeFile([4000]));
      await assertAllStay(house, volumes);
      for (const args of [
        ['fsck', '--repair'],
        ['orphans', 'remove', '--all'],
      ]) {
        const refused = await house.run(...args);
        assert.equal(refused.code, 2, refused.errors);
        assert.match(refused.errors, /contested/);
      }
      assert.match((await house.run('fsck')).errors, /contested/);
      assert.match((await house.run('adopt', '--help')).errors, /rescue --missing/);

      const adopted = await house.run('adopt');
      assert.equal(adopted.code, 0, adopted.errors);
      await eventually(async () => assert.equal(await counted(service, 'szafa_store_contested'), 0));
      // The file deleted in this database is removed. Files known only to the other database stay, because they have manifests.
      const has = async (id: string) => (await house.volumes()).some((name) => name.includes(id));
      await eventually(async () => assert.equal(await has(old.fileId), false));
      await sleep(3000);
      for (const id of [newer.fileId, String(done.json['file_id'])]) assert.equal(await has(id), true, id);
      await assertReadable(user, after.fileId, after.file);
      await service.stop();
    });
  }

  test('a copy of the database on the same store, beside the service: both keep everything', async () => {
    const house = new House(engines, 'PostgreSQL and S3');
    const service = await house.start();
    const user = await register(service);
    const { fileId } = await upload(user);
    await house.copyDatabase('staging');
    const volumes = await house.volumes();
    const staging = new Service({
      env: {
        ...house.environment,
        SZ_DATABASE: house.databaseUrl('staging'),
        SZ_SYSTEM_TOKEN: service.systemToken,
      },
    });
    engines.keep(staging);
    await staging.start();
    const there = await staging.call({
      method: 'POST',
      path: pathOf('login'),
      json: { username: user.username, password: user.password },
    });
    assertOk(there);
    const deleted = await staging.call({
      method: 'DELETE',
      path: pathOf('deleteFile', { file_id: fileId }),
      headers: { authorization: `Bearer ${String(there.json['token'])}` },
    });
    assertOk(deleted);
    for (const node of [service, staging]) {
      await eventually(async () => assert.match(node.log, /the volume store is contested/));
    }
    await assertAllStay(house, volumes);
    await service.stop();
  });
});

for (const kind of usually(
  ['PostgreSQL and S3'] as const,
  ['PostgreSQL and S3', 'PostgreSQL and a folder'] as const,
)) {
  test(`a failover that lost its tail, under the running service: ${kind}`, async () => {
    const house = new House(engines, kind);
    const service = await house.start();
    const user = await register(service);
    const [kept, doomed] = [await upload(user), await upload(user)];
    await house.copyDatabase('standby');
    const marks = async () => (await house.query('SELECT custody_marks FROM store'))[0]!['custody_marks'];
    const before = await marks();
    await remove(user, doomed.fileId);
    const lost = await upload(user, makeFile([5000]));
    await eventually(async () => assert.notEqual(await marks(), before));
    await sleep(1500);
    const volumes = await house.volumes();
    const client = new pg.Client({ connectionString: engines.postgres.url });
    await client.connect();
    await client.query('BEGIN');
    await client.query(`ALTER SCHEMA ${house.id} RENAME TO ${house.id}_lost`);
    await client.query(`ALTER SCHEMA ${house.id}_standby RENAME TO ${house.id}`);
    await client.query('COMMIT');
    const ours = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'szafa' AND pid <> pg_backend_pid()`;
    await client.query(ours);
    await client.end();
    await isContested(service);
    await assertReadable(user, kept.fileId, kept.file);
    await remove(user, kept.fileId);
    await assertAllStay(house, volumes);
    assert.ok((await house.volumes()).some((name) => name.includes(lost.fileId)));
    await service.stop();
  });
}

test('nodes that start at once, and one that takes over: the store is theirs', async () => {
  const house = new House(engines, 'PostgreSQL and S3');
  const nodes = Array.from({ length: 3 }, () => {
    const node = new Service({ env: { ...house.environment, SZ_SYSTEM_TOKEN: house.service.systemToken } });
    engines.keep(node);
    return node;
  });
  await Promise.all(nodes.map((node) => node.start()));
  const user = await register(nodes[1]!);
  await upload(user);
  const sweeps = async (node: Service) =>
    ((await nodeMetrics(node)).get('szafa_sweep_success_timestamp_seconds') ?? 0) > 0;
  const nodeMetrics = async (node: Service) => {
    const answer = await node.call({
      path: pathOf('metrics'),
      headers: { authorization: `Bearer ${house.service.systemToken}` },
    });
    return parseMetrics(answer.text);
  };
  let alive = nodes;
  for (let times = 0; times < 2; times++) {
    let holder: Service | undefined;
    await eventually(async () => {
      for (const node of alive) if (await sweeps(node)) holder = node;
      assert.ok(holder, 'nobody sweeps');
    });
    await holder!.kill9();
    alive = alive.filter((node) => node !== holder);
    await upload(new User(alive[0]!, user.username, user.password, user.token));
  }
  const [last] = alive;
  await eventually(async () => assert.equal(await sweeps(last!), true));
  assert.equal((await nodeMetrics(last!)).get('szafa_store_contested'), 0);
});

test('an S3 store that is away at the start is neither new nor foreign; once it is back it is looked at first', async () => {
  const house = new House(engines, 'SQLite and S3');
  const { fileId, file } = await upload(await register(await house.start()));
  await house.service.terminate();
  const volumes = await house.volumes();
  for (const database of ['new', 'first']) {
    await house.useDatabase(database);
    await engines.ceph.killGateway();
    const service = await house.start();
    const user = await register(service);
    await engines.ceph.startGateway();
    if (database === 'first') {
      await eventually(async () => void (await upload(user)));
    } else {
      const answer = await user.post(pathOf('init'), makeFile().init);
      assert.equal(answer.status, 503, answer.text);
      assert.deepEqual(await house.volumes(), volumes);
    }
    await service.terminate();
  }
  assert.ok(file.volumes.length > 0 && (await house.volumes()).some((name) => name.includes(fileId)));
});

for (const kind of ['SQLite and a folder', 'PostgreSQL and S3'] as const) {
  test(`migrate of the database alone: the store goes along, and the old database is refused from then on: ${kind}`, async () => {
    const house = new House(engines, kind);
    const service = await house.start();
    const user = await register(service);
    const { fileId, file } = await upload(user);
    await service.terminate();
    const volumes = await house.volumes();
    const target = house.databaseUrl('target');
    const place = kind.endsWith('S3') ? house.environment['SZ_VOLUMES']! : service.data;
    const source = kind.endsWith('S3') ? `${house.databaseUrl('first')},${place}` : place;
    const moved = await house.run('migrate', '--from', source, '--to', `${target},${place}`);
    assert.equal(moved.code, 0, moved.errors);
    assert.match(
      await house.refused(),
      /^szafa: the database belongs to store [0-9a-f]{32}, the volume store is/m,
    );
    assert.deepEqual(await house.volumes(), volumes);
    await service.restart({ env: { ...house.environment, SZ_DATABASE: target } });
    await assertReadable(user, fileId, file);
    assert.equal(await counted(service, 'szafa_store_contested'), 0);
    await service.stop();
  });
}
