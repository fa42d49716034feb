import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathOf } from '@szafa/protocol';
import { freePort } from '../engines/daemon.ts';
import { killWorker, workersOf } from '../faults/processes.ts';
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
  type Service,
  send,
  sharedUser,
  storeEnvironment,
  upload,
  useService,
  volumeName,
  volumesInFolder,
  withService,
} from '../harness/index.ts';
import { MAIN } from '../harness/main.ts';
import { parseMetrics } from '../harness/metrics.ts';

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
  const during = await metrics();
  assert.equal(during.get('szafa_pulls_running'), 1);
  assert.equal(during.get('szafa_requests_in_flight'), 2, 'the pull, and the scrape itself');
  go.resolve(false);
  assertOk(await pulled, { ok: true, pulled: 1, total: 1 });
  assert.equal((await metrics()).get('szafa_pulls_running'), 0);
});

test('a volume on its way is in flight until it breaks off, and a connection counts while it is open', async () => {
  const user = await sharedUser(service);
  const transferId = await begin(user, makeFile([1000]));
  const now = async (name: string) => (await metrics()).get(name)!;
  const before = await now('szafa_connections');
  const put = request(service.url + pathOf('writeVolume', { transfer_id: transferId, idx: 1 }), {
    method: 'PUT',
    headers: { authorization: `Bearer ${user.token}`, 'content-length': 1000 },
  });
  put.on('error', () => undefined /* we break it off */);
  put.write(Buffer.alloc(10));
  await eventually(async () => assert.equal(await now('szafa_requests_in_flight'), 2));
  assert.ok((await now('szafa_connections')) > before);
  put.destroy();
  await eventually(async () => assert.equal(await now('szafa_requests_in_flight'), 1));
  const { hostname, port } = new URL(service.url);
  const open = Array.from({ length: 20 }, () => connect(Number(port), hostname).on('error', () => undefined));
  await eventually(async () => assert.ok((await now('szafa_connections')) >= 20));
  for (const socket of open) socket.destroy();
  await eventually(async () => assert.ok((await now('szafa_connections')) < 20));
});

test('passwords that are wrong count, wherever one is asked for', async () => {
  const user = await sharedUser(service);
  const key = 'szafa_login_failures_total{reason="wrong"}';
  const before = (await metrics()).get(key)!;
  const json = { username: user.username, password: 'not this one' };
  assertError(await service.call({ method: 'POST', path: pathOf('login'), json }), 401);
  assert.equal((await metrics()).get(key), before + 1);
});

test('the node, its disk, and what all accounts have', async () => {
  const user = await sharedUser(service);
  await upload(user, makeFile([5000]));
  const shown = await metrics();
  const info = [...shown.keys()].find((key) => key.startsWith('szafa_build_info'));
  assert.match(info!, /^szafa_build_info\{version="\d+\.\d+\.\d+",node="v\d+\.[^"]*"\}$/);
  assert.equal(shown.get(info!), 1, 'however many processes');
  const [size, free] = [shown.get('szafa_disk_bytes')!, shown.get('szafa_disk_free_bytes')!];
  assert.ok(free > 0 && free <= size, `${free} of ${size}`);
  assert.ok(shown.get('szafa_event_loop_lag_seconds_count')! > 0);
  assert.equal(shown.get('szafa_scrub_interval_seconds'), 30 * 86_400);
  await eventually(async () => {
    const now = await metrics();
    assert.ok(now.get('szafa_accounts')! >= 1);
    assert.ok(now.get('szafa_files')! >= 1);
    assert.ok(now.get('szafa_stored_bytes')! >= 5000);
    assert.ok(now.get('szafa_scrub_ended_timestamp_seconds')! > 0, 'the first scrub has nothing to read');
  });
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
  await withService({ env: { SZ_METRICS_PORT: String(port), SZ_WORKERS: '2' } }, async (other) => {
    const answer = await send(`http://127.0.0.1:${port}`, { path: '/metrics' });
    assert.equal(answer.status, 200);
    assert.ok(parseMetrics(answer.text).has('szafa_transfers{state="uploading"}'));
    assertDetail(await other.call({ path: pathOf('metrics') }), 401);
    await assertDeadCount(
      other,
      async () => (await send(`http://127.0.0.1:${port}`, { path: '/metrics' })).text,
    );
  });
});

/** A sum that falls looks like a new start to whoever watches it, and all of it counts once more. */
async function assertDeadCount(other: Service, scrape: () => Promise<string>): Promise<void> {
  const key = 'szafa_requests_total{route="/healthz",method="GET",status="200"}';
  for (let i = 0; i < 5; i++) assertOk(await other.call({ path: pathOf('healthz') }), { ok: true });
  const before = parseMetrics(await scrape());
  assert.equal(before.get(key), 5);
  const [worker] = workersOf(other);
  killWorker(worker!);
  await eventually(async () => {
    const now = workersOf(other);
    assert.ok(now.length === 2 && !now.includes(worker!));
  });
  assertOk(await other.call({ path: pathOf('healthz') }), { ok: true });
  const after = parseMetrics(await scrape());
  assert.ok(after.get(key)! >= 6, `${after.get(key)}`);
  assert.equal(after.get('szafa_requests_in_flight'), 0, 'what it was doing does not stay');
}
