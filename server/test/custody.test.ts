import assert from 'node:assert/strict';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, test } from 'node:test';
import { readConfig } from '../src/config.ts';
import { Metadata } from '../src/metadata.ts';
import { createLog } from '../src/platform/log/log.ts';
import { SqliteStore } from '../src/platform/sql/sqlite.ts';
import { FolderStore } from '../src/platform/volumes/folder.ts';
import { migrate } from '../src/schema.ts';
import { Custody } from '../src/upkeep/custody.ts';
import { identify, pairStores, StoreRefused } from '../src/upkeep/store-identity.ts';
import { adoptStore } from '../src/upkeep/store-record.ts';
import { filed, NOW } from './metadata.fixture.ts';
import { bodyOf, newId, volumeOf } from './volumes.fixture.ts';

let root: string;
let volumes: FolderStore;
const open: SqliteStore[] = [];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'szafa-custody-'));
  await FolderStore.prepare(root);
  volumes = new FolderStore(root, 'c'.repeat(12));
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((sql) => sql.close()));
  await rm(root, { recursive: true, force: true });
});

interface House {
  metadata: Metadata;
  path: string;
  sql: SqliteStore;
  /** A process of a service on that database, with a clock that stands until it is moved. */
  process(): { custody: Custody; clock: { now: number } };
}

async function makeHouse(name = 'one'): Promise<House> {
  const path = join(root, `${name}.db`);
  const sql = new SqliteStore(path);
  open.push(sql);
  await migrate(sql);
  const metadata = new Metadata(sql);
  return {
    metadata,
    path,
    sql,
    process: () => {
      const clock = { now: NOW };
      const config = { ...readConfig({}), sweepMs: 5000 };
      const log = createLog('silent');
      return { clock, custody: new Custody({ metadata, volumes, config, log, now: () => clock.now }) };
    },
  };
}

/** As a backup, a standby or a copy elsewhere has it. */
async function copyOf(house: House, name: string): Promise<House> {
  const database = new DatabaseSync(house.path);
  database.prepare('VACUUM INTO ?').run(join(root, `${name}.db`));
  database.close();
  return makeHouse(name);
}

const mark = () => volumes.readNote('store-mark');

test('the mark is renewed at a start and once a file was made, at most every ten seconds', async () => {
  const one = await makeHouse();
  const { custody, clock } = one.process();
  assert.equal(await custody.keep(), true);
  const first = await mark();
  clock.now += 60_000;
  await custody.keep();
  assert.equal(await mark(), first, 'no file was made');
  await filed(one.metadata, 'ann');
  await custody.keep();
  const second = await mark();
  assert.notEqual(second, first);
  await filed(one.metadata, 'ann');
  clock.now += 9_999;
  await custody.keep();
  assert.equal(await mark(), second, 'ten seconds are not over');
  clock.now += 1;
  await custody.keep();
  assert.notEqual(await mark(), second);
});

test('another process of the same database finds its own mark, whenever the last one died', async () => {
  const one = await makeHouse();
  await one.process().custody.keep();
  for (let times = 0; times < 12; times++) {
    // Dies after the database was written, before the store was.
    await one.metadata.store.addMark(`${times}`.padStart(32, '0'), await mark());
    const { custody } = one.process();
    await custody.begin();
    assert.equal((await one.metadata.store.get()).contestedAt, null);
  }
  assert.equal(await one.process().custody.keep(), true);
  const written = (await mark())!;
  // A write that comes in late, after two of another node.
  for (let times = 0; times < 3; times++) await one.process().custody.keep();
  await volumes.writeNote('store-mark', written);
  assert.equal(await one.process().custody.keep(), true);
});

test('a database that is older than its store has it contested, until a person decides', async () => {
  const one = await makeHouse();
  await one.process().custody.keep();
  const backup = await copyOf(one, 'backup');
  await one.process().custody.keep();

  const { custody, clock } = backup.process();
  const before = await mark();
  assert.equal(await custody.keep(), false);
  assert.equal(await custody.mayRemove(), false);
  assert.equal(await mark(), before, 'the store is left to the other one');
  clock.now += 3_600_000;
  assert.equal(await custody.keep(), false);
  assert.equal(await backup.process().custody.mayRemove(), false, 'in every process of that database');
  assert.equal(await one.process().custody.keep(), true, 'the other one has it as before');
  await one.process().custody.keep();

  const identity = await identify(backup.metadata.store, volumes);
  await backup.sql.transaction((tx) => adoptStore(tx, identity));
  assert.equal(await custody.keep(), true);
  assert.equal(await custody.mayRemove(), true);
  assert.equal(await one.process().custody.keep(), false, 'now it is the other way round');
});

test('a database and its copy that run at the same time: neither removes anything', async () => {
  const one = await makeHouse();
  const [running, staging] = [one.process(), (await copyOf(one, 'copy')).process()];
  assert.equal(await running.custody.keep(), true);
  const copy = await copyOf(one, 'second');
  const second = copy.process();
  assert.equal(await second.custody.keep(), true, 'nothing shows yet that there are two');
  assert.equal(await running.custody.keep(), false);
  assert.equal(await second.custody.keep(), false, 'the first one has answered');
  assert.equal(await staging.custody.keep(), false);
});

test('a node that comes to sweep later answers for its database, too', async () => {
  const one = await makeHouse();
  await one.process().custody.keep();
  const next = one.process();
  await next.custody.begin();
  const second = (await copyOf(one, 'copy')).process();
  assert.equal(await second.custody.keep(), true, 'nothing shows yet that there are two');
  assert.equal(await next.custody.keep(), false, 'whoever swept has died');
  assert.equal(await second.custody.keep(), false, 'it was answered');
});

test('a store that is given to another database while it is in use', async () => {
  const one = await makeHouse();
  const { custody } = one.process();
  await custody.keep();
  await volumes.writeNote('store-id', 'f'.repeat(32));
  await assert.rejects(custody.keep(), StoreRefused);
  assert.equal(await custody.mayRemove(), false);
});

test('on a full disk the mark stays as it was, and the store is still ours', async (t) => {
  const one = await makeHouse();
  const { custody, clock } = one.process();
  await custody.keep();
  const before = await mark();
  await filed(one.metadata, 'ann');
  clock.now += 60_000;
  const full = Object.assign(new Error('ENOSPC: no space left on device'), {
    code: 'ENOSPC',
    syscall: 'write',
  });
  const failing = t.mock.method(volumes, 'writeNote', () => Promise.reject(full));
  assert.equal(await custody.keep(), true);
  assert.ok(failing.mock.callCount() > 0);
  failing.mock.restore();
  assert.equal(await mark(), before);
  assert.equal(await custody.keep(), true);
  assert.notEqual(await mark(), before);
});

test('a store without its id, or one that cannot be read, is refused and not contested: it may come back', async () => {
  const one = await makeHouse();
  const { custody } = one.process();
  await custody.keep();
  const place = join(root, 'volumes', 'store-id');
  await copyFile(place, join(root, 'kept'));
  for (const text of [undefined, '', 'abc', '../../x']) {
    await rm(place);
    if (text !== undefined) await volumes.writeNote('store-id', text);
    await assert.rejects(custody.keep(), /has no id/);
    assert.equal(await custody.mayRemove(), true);
    await volumes.writeNote('store-id', '');
  }
  await copyFile(join(root, 'kept'), place);
  assert.equal(await custody.keep(), true);
});

test('nodes that start at once on new stores make one pair, whoever is first at each step', async () => {
  const one = await makeHouse();
  const nodes = Array.from({ length: 8 }, () => pairStores(one.metadata.store, volumes));
  await Promise.all(nodes);
  const facts = await one.metadata.store.get();
  assert.equal(await volumes.readNote('store-id'), facts.id);
  assert.equal(await volumes.readNote('service-id'), facts.serviceId);

  // The other one writes and confirms between two looks of this one.
  await rm(join(root, 'volumes', 'store-id'));
  await one.sql.execute('UPDATE store SET confirmed = 0');
  const { id } = await one.metadata.store.get();
  const late = new Proxy(one.metadata.store, {
    get: (store, name) =>
      name === 'get'
        ? async () => {
            await volumes.writeNote('store-id', id);
            await store.confirm();
            return store.get();
          }
        : Reflect.get(store, name).bind(store),
  });
  await pairStores(late, volumes);
});

test('a start on S3 removes nothing for a minute; on a folder, which is locked, at once', async () => {
  const { metadata } = await makeHouse();
  const clock = { now: NOW };
  const s3 = { location: {}, credentials: {} } as never;
  const log = createLog('silent');
  const custody = new Custody({
    ...{ metadata, volumes, log, config: { ...readConfig({}), s3, sweepMs: 5000 } },
    now: () => clock.now,
  });
  clock.now += 59_999;
  assert.equal(await custody.mayRemove(), false);
  clock.now += 1;
  assert.equal(await custody.mayRemove(), true);
});

test('a new database is refused by volumes that have lost their id, and told what to do; nothing is written', async () => {
  const one = await makeHouse();
  const bytes = Buffer.from('of another database');
  await volumes.put(newId(), volumeOf(bytes), bodyOf(bytes));
  for (let times = 0; times < 2; times++) {
    await assert.rejects(pairStores(one.metadata.store, volumes), (error) => {
      assert.ok(error instanceof StoreRefused, String(error));
      assert.match(
        error.message,
        /^the database is new, but the volume store has volumes\..* "szafa-server rescue"/,
      );
      return true;
    });
    assert.equal(await volumes.readNote('store-id'), undefined);
    assert.equal((await one.metadata.store.get()).confirmed, false);
  }
});
