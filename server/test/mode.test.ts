import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathOf } from '@szafa/protocol';
import { guarded, MODE_MS, Mode } from '../src/operator/mode.ts';
import { TryLater } from '../src/platform/http/api-error.ts';
import { copyInto, type Sink } from '../src/platform/volumes/body.ts';
import { openVolumes } from '../src/stores.ts';
import { Sweeper } from '../src/upkeep/sweeper.ts';
import { InProcess, initOf, TOKEN } from './in-process.ts';

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

test('an upload that was being stored when the server became read-only is finished afterwards', async (t) => {
  const service = await InProcess.start(t);
  const { metadata } = service.services;
  const bytes = randomBytes(9);
  const transfer_id = await service.begin([bytes]);
  assert.equal(
    (await service.call('PUT', pathOf('writeVolume', { transfer_id, idx: 1 }), bytes)).status,
    200,
  );
  await metadata.transfers.beginStoring(transfer_id, 'admin');
  const status = async () => (await metadata.transfers.get(transfer_id))?.status;
  let isReadOnly = true;
  const mode = { isReadOnly: async () => isReadOnly };
  const sweeper = new Sweeper({ ...service.services, mode, shared: false });
  await sweeper.sweep();
  assert.equal(await status(), 'storing');
  isReadOnly = false;
  await sweeper.sweep();
  assert.equal(await status(), 'done');
});

test('files of one request are not filed if the server became read-only while they came', async (t) => {
  const service = await InProcess.start(t);
  const { metadata } = service.services;
  const bytes = randomBytes(9);
  const init = Buffer.from(JSON.stringify(initOf([bytes]))).toString('base64');
  const head = { files: [{ transfer_id: randomBytes(20).toString('base64url'), size: 9, init }] };
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
  t.after(() => socket.destroy());
  const chunk = (part: string | Buffer) => {
    socket.write(`${Buffer.byteLength(part).toString(16)}\r\n`);
    socket.write(part);
    socket.write('\r\n');
  };
  socket.write(
    `POST ${pathOf('writeFiles')} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n`,
  );
  socket.write('Transfer-Encoding: chunked\r\n\r\n');
  chunk(`${JSON.stringify(head)}\n`);
  chunk(bytes);
  const { volumes } = service.services;
  const stored = async () => (await Array.fromAsync(volumes.groups())).length;
  for (const end = Date.now() + 30_000; (await stored()) === 0 && Date.now() < end; ) await sleep(20);
  assert.equal(await stored(), 1, 'the volume is in the store before the body ends');
  await metadata.store.setReadOnly(true, 1, 'operator');
  await sleep(MODE_MS + 50);
  socket.write('0\r\n\r\n');
  const [answer] = (await once(socket, 'data')) as [Buffer];
  assert.match(String(answer), /^HTTP\/1\.1 503 /);
  assert.equal(await metadata.files.newest(), 0);
});

test('nothing is written to the store, and nothing removed, while the service is read-only', async (t) => {
  const service = await InProcess.start(t);
  const { metadata, volumes } = service.services;
  const [kept, deleted] = [await service.upload([randomBytes(9)]), await service.upload([randomBytes(9)])];
  await metadata.fileChanges.remove(deleted, 0);
  await metadata.documents.markStale(kept);
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
  const body = { pour: async (sink: Sink) => copyInto(bytes, sink) };
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
