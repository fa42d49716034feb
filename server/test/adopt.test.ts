import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { readConfig } from '../src/config.ts';
import { Report } from '../src/operator/commands/report.ts';
import { prepareStores } from '../src/stores.ts';
import { adopt } from '../src/upkeep/commands/adopt.ts';
import { openStores } from '../src/upkeep/commands/pair.ts';

const FOREIGN = 'f'.repeat(32);

/** A database and a store that are a pair, and what can be done to them. */
async function makePair(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'szafa-adopt-'));
  const config = readConfig({ SZ_DATA: folder, SZ_MIN_FREE: '0', SZ_LOG: 'silent' });
  await prepareStores(config);
  const pair = await openStores(config);
  t.after(async () => {
    await pair.close();
    await rm(folder, { recursive: true, force: true });
  });
  return {
    own: (await pair.metadata.store.get()).id,
    ids: async () => [(await pair.metadata.store.get()).id, await pair.volumes.readNote('store-id')],
    makeNew: () => pair.sql.execute('UPDATE store SET confirmed = 0'),
    replaceId: (id: string) => pair.volumes.writeNote('store-id', id),
    adopt: (id?: string) => adopt(pair, id, new Report(true, () => {})),
  };
}

test('adopt joins a database and a foreign store only if its id is named', async (t) => {
  const { own, ids, replaceId, adopt } = await makePair(t);
  await replaceId(FOREIGN);
  for (const named of [undefined, '', own]) {
    await assert.rejects(adopt(named), {
      name: 'UsageError',
      message: /"szafa-server adopt --store f{32}"$/,
    });
    assert.deepEqual(await ids(), [own, FOREIGN]);
  }
  await adopt(FOREIGN);
  assert.deepEqual(await ids(), [FOREIGN, FOREIGN]);
  await assert.rejects(adopt(own), { name: 'UsageError', message: `the store is ${FOREIGN}, not ${own}` });
  await adopt();
});

test('adopt gives a store without an id that of the database, if it is named', async (t) => {
  const { own, ids, replaceId, adopt } = await makePair(t);
  await replaceId('cut short');
  for (const named of [undefined, FOREIGN]) {
    await assert.rejects(adopt(named), { name: 'UsageError', message: /has no id/ });
    assert.deepEqual(await ids(), [own, 'cut short']);
  }
  await adopt(own);
  assert.deepEqual(await ids(), [own, own]);
});

test('a new database adopts no store: it is filled by rescue', async (t) => {
  const { own, ids, makeNew, replaceId, adopt } = await makePair(t);
  await makeNew();
  await replaceId(FOREIGN);
  await assert.rejects(adopt(FOREIGN), { name: 'UsageError', message: /"szafa-server rescue"$/ });
  assert.deepEqual(await ids(), [own, FOREIGN]);
});
