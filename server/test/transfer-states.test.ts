import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { pathOf } from '@szafa/protocol';
import { DiskLender, DiskSpace } from '../src/platform/disk-space.ts';
import { streamBody } from '../src/platform/volumes/body.ts';
import { IncomingVolumes } from '../src/transfers/incoming-volumes.ts';
import { ReceivedVolumes } from '../src/transfers/received-volumes.ts';
import { Transfers } from '../src/transfers/transfers.ts';
import { Sweeper } from '../src/upkeep/sweeper.ts';
import { InProcess, initOf } from './in-process.ts';
import { honest, serve, TOKEN } from './pull/fixture.ts';

/** A transfer whose only volume has come in. */
async function received(service: InProcess) {
  const volume = randomBytes(100);
  const transfer_id = await service.begin([volume]);
  const put = () => service.call('PUT', pathOf('writeVolume', { transfer_id, idx: 1 }), volume);
  assert.equal((await put()).status, 200);
  return {
    transferId: transfer_id,
    put,
    complete: () => service.call('POST', pathOf('complete', { transfer_id })),
    cancel: () => service.call('DELETE', pathOf('cancel', { transfer_id })),
  };
}

test('while a transfer is being stored no volume is taken, and it cannot be cancelled', async (t) => {
  const service = await InProcess.start(t);
  const { transferId, put, complete, cancel } = await received(service);
  await service.services.metadata.transfers.beginStoring(transferId, 'admin');
  for (const refused of [await put(), await cancel()]) {
    assert.deepEqual([refused.status, Object.keys(refused.json)], [409, ['error']]);
  }
  assert.equal((await complete()).status, 200);
});

test('a transfer that could not be filed is failed: it takes volumes, and may be cancelled', async (t) => {
  const service = await InProcess.start(t);
  const { metadata, volumes } = service.services;
  const { transferId, put, complete, cancel } = await received(service);
  const fault = Object.assign(new Error('EIO: i/o error'), { code: 'EIO', syscall: 'open' });
  const failing = t.mock.method(volumes, 'writeManifest', () => Promise.reject(fault));
  const refused = await complete();
  assert.deepEqual([refused.status, refused.json['status']], [409, 'failed']);
  failing.mock.restore();
  assert.equal((await metadata.transfers.get(transferId))?.status, 'failed');
  assert.equal((await put()).status, 200);
  assert.equal((await cancel()).status, 200);
  assert.equal((await complete()).status, 404);
  await new Sweeper({ ...service.services, shared: false }).sweep();
  assert.deepEqual(await Array.fromAsync(volumes.groups()), []);
});

test('cancelling an upload whose group has a manifest keeps the volumes: another database has them as a file', async (t) => {
  const service = await InProcess.start(t);
  const { metadata, volumes } = service.services;
  const { transferId, cancel } = await received(service);
  const { file_id } = (await metadata.transfers.get(transferId))!;
  const manifest = (await volumes.manifest(await service.upload([randomBytes(9)])))!;
  await volumes.writeManifest({ ...manifest, file_id });
  assert.equal((await cancel()).status, 200);
  await new Sweeper({ ...service.services, shared: false }).sweep();
  assert.deepEqual(await volumes.received(file_id), [1]);
});

test('an init whose group cannot be made leaves no open upload', async (t) => {
  const service = await InProcess.start(t);
  const { metadata, volumes } = service.services;
  const fault = Object.assign(new Error('EIO: i/o error'), { code: 'EIO', syscall: 'mkdir' });
  const failing = t.mock.method(volumes, 'create', () => Promise.reject(fault));
  const refused = await service.call('POST', pathOf('init'), initOf([randomBytes(9)]));
  assert.equal(refused.status, 503);
  failing.mock.restore();
  assert.deepEqual(await metadata.transfers.listOpen({ touchedAt: 0, fileId: '' }, 10), []);
});

test('a full disk does not keep an upload from being cancelled', async (t) => {
  const service = await InProcess.start(t);
  const { metadata, config } = service.services;
  const { transferId, cancel } = await received(service);
  // Old enough that a request to it notes its time.
  await metadata.transfers.touch(transferId, Date.now() - config.transferTtlMs / 2);
  const full = Object.assign(new Error('ENOSPC: no space left on device'), {
    code: 'ENOSPC',
    syscall: 'write',
  });
  const failing = t.mock.method(metadata.transfers, 'touch', () => Promise.reject(full));
  assert.equal((await cancel()).status, 200);
  assert.equal(failing.mock.callCount(), 1);
  assert.equal(await metadata.transfers.get(transferId), undefined);
});

test('the space of a volume is free again once it is there, or refused', async (t) => {
  const service = await InProcess.start(t);
  const { metadata, volumes, config } = service.services;
  // A disk with room for one of them at a time.
  const free = () => 1000;
  const lender = new DiskLender(free, 0);
  const borrow = (least: number, ended: number) => lender.lend('this', least, ended);
  const space = new DiskSpace({ free, minFreeBytes: 0, holdsVolumes: true, borrow });
  const transfers = new Transfers({ metadata, volumes, space, config });
  const receivedVolumes = new ReceivedVolumes({ metadata, volumes });
  const incoming = new IncomingVolumes({ metadata, volumes, space, config, transfers, receivedVolumes });
  const right = [randomBytes(600), randomBytes(600)];
  const transferId = await service.begin(right);
  const receive = async (idx: number, bytes: Buffer) => {
    const body = streamBody(Readable.from([bytes]));
    const upload = { idx, length: 600, digest: undefined, body, begin: () => undefined };
    await incoming.receive(transferId, await transfers.find(transferId), upload);
  };
  await assert.rejects(receive(1, randomBytes(600)), { reason: 'digest' });
  for (const [at, bytes] of right.entries()) await receive(at + 1, bytes);
});

test('of a pull whose transfer is cancelled while it records, no further volume is stored', async (t) => {
  const service = await InProcess.start(t);
  const { pulls, volumes } = service.services;
  const bytes = Array.from({ length: 9 }, () => randomBytes(100));
  const transferId = await service.begin(bytes);
  const source = await serve(t, honest(new Map(bytes.map((volume, at) => [at + 1, volume]))));
  const stored: number[] = [];
  let cancelled: ReturnType<InProcess['call']> | undefined;
  const put = volumes.put.bind(volumes);
  t.mock.method(volumes, 'put', async (...args: Parameters<typeof put>) => {
    stored.push(args[1].idx);
    // Those that are recorded at once have begun; the next must find that there is nothing to record for.
    cancelled ??= service.call('DELETE', pathOf('cancel', { transfer_id: transferId }));
    assert.equal((await cancelled).status, 200);
    return put(...args);
  });
  const body = { base_url: source.url, token: TOKEN };
  await assert.rejects(pulls.pull(transferId, body, { caller: 'admin', own: '127.0.0.1' }), { status: 404 });
  assert.ok(stored.length > 0 && stored.length <= 4, String(stored));
});
