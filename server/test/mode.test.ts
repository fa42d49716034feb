import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { guarded, MODE_MS, Mode } from '../src/domain/mode.ts';
import { Sweeper } from '../src/domain/sweeper.ts';
import { TryLater } from '../src/errors.ts';
import { openVolumes } from '../src/services.ts';
import { deposit, type Sink } from '../src/volumes/body.ts';
import { InProcess } from './in-process.ts';

test('the database is asked once a second, and by many at once only once', async (t) => {
  const { metadata } = (await InProcess.start(t)).services;
  let [now, asked] = [0, 0];
  const get = metadata.store.get.bind(metadata.store);
  metadata.store.get = () => {
    asked++;
    return get();
  };
  const mode = new Mode(metadata, () => now);
  assert.deepEqual(await Promise.all([mode.isReadOnly(), mode.isReadOnly()]), [false, false]);
  assert.equal(asked, 1);
  assert.equal(await metadata.store.setReadOnly(true, 5, 'operator'), true);
  assert.equal(await metadata.store.setReadOnly(true, 6, 'operator'), false, 'it was so already');
  assert.equal(await mode.isReadOnly(), false);
  now += MODE_MS;
  await assert.rejects(mode.requireWritable(), (error) => error instanceof TryLater && error.status === 503);
  assert.equal(asked, 2);
});

test('nothing is written to the store, and nothing removed, while the service is read-only', async (t) => {
  const service = await InProcess.start(t);
  const { metadata, volumes } = service.services;
  const [kept, deleted] = [await service.upload([randomBytes(9)]), await service.upload([randomBytes(9)])];
  await metadata.files.remove(deleted, 0);
  await metadata.documents.outdate(kept);
  const bytes = randomBytes(9);
  const transferId = await service.begin([bytes]);
  const { file_id: open } = (await metadata.transfers.get(transferId))!;
  // A folder for the upload may be there, with nothing in it.
  const groups = async () =>
    (await Array.fromAsync(volumes.groups(), ({ id }) => id)).filter((id) => id !== open).sort();
  const before = await groups();
  assert.deepEqual(before, [kept, deleted].sort());
  const sweep = (isReadOnly: boolean, ms = 0) =>
    new Sweeper({
      ...service.services,
      mode: { isReadOnly: async () => isReadOnly },
      now: () => Date.now() + ms,
      shared: false,
    }).sweep();
  const year = 366 * 86_400_000;
  await sweep(true, year);
  assert.deepEqual(await groups(), before);
  assert.deepEqual(await metadata.documents.staleManifests('', 10), [kept]);
  assert.ok(await metadata.transfers.get(transferId), 'nobody could go on with it');

  await metadata.store.setReadOnly(true, 1, 'operator');
  const plain = openVolumes(service.services.config, 'p1');
  const closed = guarded(plain, new Mode(metadata));
  const manifest = (await volumes.manifest(kept))!;
  const volume = { idx: 1, size: 9, sha256: createHash('sha256').update(bytes).digest('hex') };
  const body = { pour: async (sink: Sink) => deposit(bytes, sink) };
  const id = randomBytes(16).toString('hex');
  for (const change of [
    () => closed.create(id),
    () => closed.put(open, volume, body),
    () => closed.putFile({ ...manifest, file_id: id }, volume, body),
    () => closed.withdraw(open, volume, async () => false),
    () => closed.writeManifest(manifest),
    () => closed.removeManifest(kept),
    () => closed.removeAccount('admin'),
    () => closed.copy(kept, id, []),
    () => closed.remove(kept),
    () => closed.reclaim(async () => new Set()),
  ])
    await assert.rejects(change(), TryLater, String(change));
  assert.deepEqual(await volumes.received(open), []);
  assert.equal(await closed.hasManifest(kept), true);
  await plain.putFile({ ...manifest, file_id: id }, volume, body);
  await closed.discard(id);
  assert.equal(await plain.hasManifest(id), false, 'what nobody knows of may go');

  await metadata.store.setReadOnly(false, Date.now(), 'operator');
  await sweep(false);
  assert.deepEqual(
    await groups(),
    before.filter((group) => group !== deleted),
  );
  assert.deepEqual(await metadata.documents.staleManifests('', 10), []);
});
