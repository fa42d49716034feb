import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { pathOf } from '@szafa/protocol';
import { useEngines } from '../engines/commands.ts';
import { House } from '../engines/house.ts';
import {
  assertOk,
  assertReadable,
  begin,
  complete,
  eventually,
  listFiles,
  makeFile,
  putAll,
  register,
  upload,
  usually,
} from '../harness/index.ts';

/** All four engines in `npm run test:long`. */
const large = usually(false, true);
const engines = useEngines({ large });
const KINDS = usually(
  ['SQLite and a folder'] as const,
  ['SQLite and a folder', 'PostgreSQL and S3'] as const,
);

const column = async (house: House, name: string, table: string) =>
  (await house.query(`SELECT ${name} AS value FROM ${table}`)).map(({ value }) => value);
/** Another database has had the store. */
const contest = (house: House) => house.look().writeNote('store-mark', 'f'.repeat(32));

for (const kind of KINDS) {
  describe(`a store and those who had it: ${kind}`, () => {
    test('what an older database takes for a clone or an upload under way is a file by now: it stays one', async () => {
      const house = new House(engines, kind);
      const service = await house.start();
      const ann = await register(service);
      const source = await upload(ann, makeFile([1000, 20]));
      const pending = makeFile([30, 40]);
      const transferId = await begin(ann, pending);
      await house.copyDatabase('old');
      const copied = await ann.post(pathOf('cloneFile', { file_id: source.fileId }));
      assertOk(copied);
      const cloneId = String(copied.json['file_id']);
      await putAll(ann, transferId, pending);
      const finished = String((await complete(ann, transferId)).json['file_id']);
      await service.terminate();
      await contest(house);
      const isOfFile = (name: string) => !name.startsWith('accounts/');
      const volumes = (await house.volumes()).filter(isOfFile);

      await house.useDatabase('old');
      // As it is from the beginning of a clone to its end.
      await house.query(
        `INSERT INTO garbage (file_id, not_before, clone_key, owner, clone_bytes)
         VALUES ('${cloneId}', 1, 'clone ${source.fileId} ${ann.username} 0', '${ann.username}', 1020)`,
      );
      const early = await house.run('fsck', '--repair');
      assert.equal(early.code, 2, 'before any service has seen it');
      assert.match(early.errors, /contested/);
      await house.start();
      assertOk(await ann.delete(pathOf('cancel', { transfer_id: transferId })));
      await service.terminate();
      const taken = await house.run('rescue', '--missing', '--json');
      assert.equal(taken.code, 0, taken.errors);
      assert.deepEqual(taken.lines.flatMap(({ file }) => file ?? []).sort(), [cloneId, finished].sort());
      assert.deepEqual(await column(house, 'file_id', 'garbage'), []);
      await house.start();
      assert.equal((await listFiles(ann)).length, 3);
      await assertReadable(ann, cloneId, source.file);
      await assertReadable(ann, finished, pending);
      assert.deepEqual((await house.volumes()).filter(isOfFile), volumes);
      await service.stop();
    });

    test('an id that was cut short is none: refused, and the database’s own is written again', async () => {
      const house = new House(engines, kind);
      const service = await house.start();
      const ann = await register(service);
      const { fileId, file } = await upload(ann, makeFile([10]));
      await service.terminate();
      const own = (await house.look().readNote('store-id'))!;
      await house.look().writeNote('store-id', '');
      assert.match(await house.refused(), new RegExp(`has no id.*"szafa-server adopt --store ${own}"`));
      assert.equal((await house.run('adopt', '--store', '')).code, 2);
      assert.equal((await house.run('adopt', '--store', own)).code, 0);
      await house.start();
      await assertReadable(ann, fileId, file);
      await service.stop();
    });
  });
}

// Volumes are noted only where a list of them is slow.
if (large)
  test('an upload whose volumes another database has removed makes no file, whatever was noted of them', async () => {
    const house = new House(engines, 'PostgreSQL and S3');
    const service = await house.start();
    const ann = await register(service);
    const file = makeFile([30, 40]);
    const [first, second] = [await begin(ann, file), await begin(ann, file)];
    for (const id of [first, second]) await putAll(ann, id, file);
    await eventually(async () => assert.equal((await column(house, 'bitmap', 'received_volumes')).length, 2));
    await service.terminate();
    for (const id of await column(house, 'file_id', 'transfers')) await house.look().remove(String(id));
    await contest(house);
    await house.query(
      `UPDATE transfers SET status = 'storing', owner = creator WHERE transfer_id = '${second}'`,
    );
    await house.start();
    for (const id of [first, second]) {
      const answer = await complete(ann, id);
      assert.equal(answer.status, 409, answer.text);
      assert.deepEqual(answer.json['received'], []);
    }
    assert.deepEqual(await listFiles(ann), []);
    await service.stop();
  });
