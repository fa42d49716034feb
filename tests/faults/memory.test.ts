import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathOf } from '@szafa/protocol';
import { Ceph } from '../engines/ceph.ts';
import {
  assertOk,
  begin,
  complete,
  eventually,
  filesBelow,
  type MadeFile,
  makeFile,
  received,
  register,
  Service,
  type User,
  usually,
} from '../harness/index.ts';
import { openFilesOf, peakMemory, workersAnswer } from './processes.ts';
import { SlowClient } from './slow-client.ts';

const MIB = 1024 * 1024;
const CLIENTS = 64;
/** Of a volume: those of all clients of a worker are far more than it may use. */
const BLOCKS = usually(16, 64);
const LIMIT = 300_000_000;

const service = new Service({ env: { SZ_WORKERS: '2' } });
/** Every volume has the same bytes: one block, repeated. */
const block = randomBytes(MIB);
let user: User;
let fileId = '';

before(async () => {
  await service.start();
  user = await register(service);
});
after(() => service.stop());

async function assertMemory(what: string, of = service): Promise<string> {
  const peaks = (await workersAnswer(of, 2)).map(peakMemory);
  const shown = `${what}: ${peaks.map((peak) => `${Math.round(peak / 1e6)} MB`).join(', ')}`;
  for (const peak of peaks) assert.ok(peak < LIMIT, shown);
  return shown;
}

function manyLargeVolumes(count = CLIENTS): MadeFile {
  const hash = createHash('sha256');
  for (let blocks = 0; blocks < BLOCKS; blocks++) hash.update(block);
  const spec = { size: BLOCKS * MIB, sha256: hash.digest('hex') };
  const file = makeFile([1]);
  file.init.chunk_count = count;
  file.init.chunks = Array.from({ length: count }, () => spec);
  return file;
}

test(`64 uploads of ${BLOCKS} MiB at once: less than 300 MB for each worker`, async (t) => {
  const transferId = await begin(user, manyLargeVolumes());
  const clients = await Promise.all(
    Array.from({ length: CLIENTS }, (_, at) => SlowClient.put(user, transferId, at + 1, BLOCKS * MIB, block)),
  );
  // All are in the middle of their volume before any goes on.
  const sendBlocks = (count: number) =>
    Promise.all(
      clients.map(async (client) => {
        for (let sent = 0; sent < count; sent++) await client.send(block);
      }),
    );
  await sendBlocks(3);
  await sendBlocks(BLOCKS - 4);
  for (const client of clients) {
    assert.equal((await client.answer(300_000)).status, 200);
    client.destroy();
  }
  t.diagnostic(await assertMemory('uploads'));
  const done = await complete(user, transferId);
  assertOk(done);
  fileId = String(done.json['file_id']);
});

test('64 stalled downloads and a slow one: no more memory, every byte right, every file closed', async (t) => {
  const clients = await Promise.all(
    Array.from({ length: CLIENTS }, (_, at) => SlowClient.get(user, fileId, at + 1)),
  );
  await sleep(1000);
  t.diagnostic(await assertMemory('stalled downloads'));
  const slow = clients[0]!;
  const hash = createHash('sha256');
  let body = -1;
  slow.socket.on('data', (part: Buffer) => {
    const from = body >= 0 ? 0 : part.indexOf('\r\n\r\n') + 4;
    body = Math.max(body, 0) + part.length - from;
    hash.update(part.subarray(from));
    // A reader that needs a pause now and then.
    if (Math.random() < 0.02) {
      slow.socket.pause();
      setTimeout(() => slow.socket.resume(), 5);
    }
  });
  await eventually(async () => assert.equal(body, BLOCKS * MIB));
  const whole = createHash('sha256');
  for (let blocks = 0; blocks < BLOCKS; blocks++) whole.update(block);
  assert.equal(hash.digest('hex'), whole.digest('hex'));
  for (const client of clients) client.destroy();
  await eventually(async () => {
    for (const pid of await workersAnswer(service, 2)) {
      assert.deepEqual(openFilesOf(pid, join(service.data, 'volumes')), [], 'a volume is still open');
    }
  });
  t.diagnostic(await assertMemory('afterwards'));
  assertOk(await user.delete(pathOf('deleteFile', { file_id: fileId })));
});

test('16 stalled uploads on their way to S3: no more memory, and not a byte of them on this disk', async (t) => {
  const ceph = await Ceph.start();
  const remote = new Service({
    env: { SZ_WORKERS: '2', SZ_VOLUMES: ceph.url('memory'), ...ceph.environment },
  });
  try {
    await remote.start();
    const sender = await register(remote);
    const transferId = await begin(sender, manyLargeVolumes(16));
    const before = [...(await filesBelow(remote.data)).keys()].sort();
    const clients = await Promise.all(
      Array.from({ length: 16 }, (_, at) => SlowClient.put(sender, transferId, at + 1, BLOCKS * MIB, block)),
    );
    const [first, ...others] = clients;
    // More than one of them may keep in memory.
    await Promise.all(others.flatMap((client) => Array.from({ length: 8 }, () => client.send(block))));
    t.diagnostic(await assertMemory('stalled uploads to S3', remote));
    const files = await filesBelow(remote.data);
    assert.deepEqual([...files.keys()].sort(), before, 'a file came into the data folder');
    for (const [name, bytes] of files) assert.ok(bytes < 8 * MIB, `${name} has ${bytes} bytes`);
    for (const pid of await workersAnswer(remote, 2)) {
      const written = openFilesOf(pid, tmpdir()).filter((name) => name.includes('(deleted)'));
      assert.deepEqual(written, [], 'a file without a name is open');
    }
    for (let sent = 1; sent < BLOCKS; sent++) await first!.send(block);
    assert.equal((await first!.answer(300_000)).status, 200, 'those that stall keep no other waiting');
    assert.deepEqual(await received(sender, transferId), [1]);
    for (const client of clients) client.destroy();
    t.diagnostic(await assertMemory('afterwards', remote));
  } finally {
    await remote.discard();
    await ceph.stop();
  }
});
