import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { pathOf } from '@szafa/protocol';
import { freePort } from '../engines/daemon.ts';
import {
  admin,
  assertDetail,
  assertError,
  assertOk,
  begin,
  eventually,
  makeFile,
  PullServer,
  putVolume,
  readVolume,
  send,
  sharedUser,
  storeEnvironment,
  upload,
  useService,
  volumeName,
  volumesInFolder,
  withService,
} from '../harness/index.ts';
import { parseMetrics } from '../harness/metrics.ts';

const MAIN = fileURLToPath(new URL('../../server/src/main.ts', import.meta.url));

const service = useService();

async function metrics(): Promise<Map<string, number>> {
  const answer = await admin(service).get(pathOf('metrics'));
  assert.equal(answer.status, 200, answer.text);
  assert.match(String(answer.headers['content-type']), /^text\/plain; version=0\.0\.4/);
  return parseMetrics(answer.text);
}

test('metrics need the system token', async () => {
  assertDetail(await service.call({ path: pathOf('metrics') }), 401);
  assertError(await (await sharedUser(service)).get(pathOf('metrics')), 403);
});

test('metrics count over all workers: requests, bytes, rejected volumes, transfers', async () => {
  const user = await sharedUser(service);
  const before = await metrics();
  const grown = (after: Map<string, number>, key: string) => (after.get(key) ?? 0) - (before.get(key) ?? 0);
  for (let round = 0; round < 10; round++) await user.get(pathOf('me'));
  const { fileId } = await upload(user, makeFile([3000, 500]));
  assert.equal((await readVolume(user, fileId, 1)).status, 200);
  const wrong = makeFile([100]);
  const transferId = await begin(user, wrong);
  assertError(await putVolume(user, transferId, 1, Buffer.alloc(100)), 409);
  assertError(await putVolume(user, transferId, 1, Buffer.alloc(99)), 409);
  assertError(await putVolume(user, transferId, 2, Buffer.alloc(99)), 409);

  const after = await metrics();
  assert.equal(grown(after, 'szafa_requests_total{route="/api/auth/me",method="GET",status="200"}'), 10);
  assert.equal(grown(after, 'szafa_request_seconds_count{route="/api/auth/me",method="GET"}'), 10);
  assert.equal(grown(after, 'szafa_request_seconds_bucket{route="/api/auth/me",method="GET",le="+Inf"}'), 10);
  assert.equal(grown(after, 'szafa_volume_bytes_total{direction="in"}'), 3500);
  assert.equal(grown(after, 'szafa_volume_bytes_total{direction="out"}'), 3000);
  for (const reason of ['digest', 'size', 'number']) {
    assert.equal(grown(after, `szafa_volumes_rejected_total{reason="${reason}"}`), 1, reason);
  }
  assert.equal(grown(after, 'szafa_transfers{state="uploading"}'), 1);
  for (const store of ['database', 'volumes']) {
    assert.ok(after.has(`szafa_store_errors_total{store="${store}"}`), 'there before the first error');
  }
  assert.ok(after.get('szafa_process_resident_bytes')! > 10_000_000);
  assert.ok(Math.abs(after.get('szafa_sweep_success_timestamp_seconds')! - Date.now() / 1000) < 60);
});

test('a volume that is rejected inside a pull counts as well', async () => {
  const user = await sharedUser(service);
  const file = makeFile([1000, 70_000, 500]);
  const transferId = await begin(user, file);
  const key = 'szafa_volumes_rejected_total{reason="digest"}';
  const before = (await metrics()).get(key) ?? 0;
  const served = { ...file, volumes: file.volumes.with(1, Buffer.alloc(70_000)) };
  await using server = await new PullServer(served).listen();
  const pull = { base_url: server.url, token: 'one-time-pull-token-0123456789' };
  const { json } = await user.post(pathOf('pull', { transfer_id: transferId }), pull);
  assert.deepEqual(json, { ok: true, pulled: 2, total: 3 });
  assert.equal((await metrics()).get(key), before + 1);
});

test('a pull counts while it runs', async () => {
  const user = await sharedUser(service);
  const file = makeFile();
  const transferId = await begin(user, file);
  const [asked, go] = [Promise.withResolvers<void>(), Promise.withResolvers<false>()];
  const answer = () => {
    asked.resolve();
    return go.promise;
  };
  await using server = await new PullServer(file, { answer }).listen();
  const pull = { base_url: server.url, token: 'one-time-pull-token-0123456789' };
  const pulled = user.post(pathOf('pull', { transfer_id: transferId }), pull);
  await asked.promise;
  assert.equal((await metrics()).get('szafa_pulls_running'), 1);
  go.resolve(false);
  assertOk(await pulled, { ok: true, pulled: 1, total: 1 });
  assert.equal((await metrics()).get('szafa_pulls_running'), 0);
});

test('a fsck that finds nothing wrong leaves its time', async () => {
  const key = 'szafa_fsck_success_timestamp_seconds';
  const env = { PATH: process.env['PATH'], SZ_DATA: service.data, ...storeEnvironment(service.id) };
  assert.equal((await metrics()).get(key), 0);
  const fsck = spawn(process.execPath, [MAIN, 'fsck'], { env, stdio: 'ignore' });
  const [code] = await once(fsck, 'exit');
  assert.equal(code, 0);
  assert.ok(Math.abs((await metrics()).get(key)! - Date.now() / 1000) < 60);
});

test('a disk that fails in the middle of a volume is counted', {
  skip: !volumesInFolder(),
}, async () => {
  const key = 'szafa_store_errors_total{store="volumes"}';
  const user = await sharedUser(service);
  const { fileId, file } = await upload(user);
  const before = (await metrics()).get(key)!;
  const name = volumeName(1, file.volumes[0]!);
  const volume = join(service.data, 'volumes', fileId.slice(0, 2), fileId, name);
  await rm(volume);
  await mkdir(volume);
  await assert.rejects(readVolume(user, fileId, 1), { code: 'ECONNRESET' });
  await eventually(async () => assert.equal((await metrics()).get(key), before + 1));
});

test('SZ_METRICS_PORT shows them without a token, on that port only', async () => {
  const port = await freePort();
  await withService({ env: { SZ_METRICS_PORT: String(port) } }, async (other) => {
    const answer = await send(`http://127.0.0.1:${port}`, { path: '/metrics' });
    assert.equal(answer.status, 200);
    assert.ok(parseMetrics(answer.text).has('szafa_transfers{state="uploading"}'));
    assertDetail(await other.call({ path: pathOf('metrics') }), 401);
  });
});
