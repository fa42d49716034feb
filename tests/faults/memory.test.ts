import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathOf } from '@szafa/protocol';
import {
  assertOk,
  begin,
  complete,
  eventually,
  type MadeFile,
  makeFile,
  register,
  Service,
  type User,
} from '../harness/index.ts';
import { openFilesOf, peakMemory, workersAnswer } from './processes.ts';
import { SlowClient } from './slow-client.ts';

const MIB = 1024 * 1024;
const CLIENTS = 64;
const BLOCKS = 64;
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

async function assertMemory(what: string): Promise<string> {
  const peaks = (await workersAnswer(service, 2)).map(peakMemory);
  const shown = `${what}: ${peaks.map((peak) => `${Math.round(peak / 1e6)} MB`).join(', ')}`;
  for (const peak of peaks) assert.ok(peak < LIMIT, shown);
  return shown;
}

function manyLargeVolumes(): MadeFile {
  const hash = createHash('sha256');
  for (let blocks = 0; blocks < BLOCKS; blocks++) hash.update(block);
  const spec = { size: BLOCKS * MIB, sha256: hash.digest('hex') };
  const file = makeFile([1]);
  file.init.chunk_count = CLIENTS;
  file.init.chunks = Array.from({ length: CLIENTS }, () => spec);
  return file;
}

test('64 uploads of 64 MiB at once: less than 300 MB for each worker', async (t) => {
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
    assert.equal((await client.answer(60_000)).status, 200);
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
  await eventually(async () => assert.equal(body, BLOCKS * MIB), 30_000);
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
