import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  assertOk,
  begin,
  complete,
  eventually,
  makeFile,
  putAll,
  putVolume,
  received,
  register,
  Service,
  slowness,
  type User,
  upload,
} from '../harness/index.ts';
import { accepted, killWorker, openFilesOf, servingWorker, workersAnswer, workersOf } from './processes.ts';
import { SlowClient } from './slow-client.ts';
import { Tracer } from './strace.ts';

const MIB = 1024 * 1024;
/** Longer than `terminate` waits before it kills, and fails: what ends in time has not waited for it. */
const LONG_GRACE = { env: { SZ_SHUTDOWN_GRACE: '60' } };
const service = new Service(LONG_GRACE);
let user: User;

before(async () => {
  await service.start();
  user = await register(service);
});
after(() => service.stop());

async function connects(): Promise<boolean> {
  try {
    (await SlowClient.connect(service)).destroy();
    return true;
  } catch {
    // Refused, which is the answer.
    return false;
  }
}

/** Waits until the service has begun with so many volumes. */
const begun = (volumes: number) =>
  eventually(async () => {
    const folders = ['tmp', 'volumes'].map((name) => join(service.data, name));
    const open = workersOf(service).flatMap((pid) => folders.flatMap((folder) => openFilesOf(pid, folder)));
    assert.ok(open.length >= volumes, `${open.length} volumes are open`);
  });

test('SIGTERM: requests under way finish, new connections are refused, the exit code is 0', async () => {
  const large = await upload(user, makeFile([24 * MIB]));
  const file = makeFile([3 * MIB, 1000]);
  const transferId = await begin(user, file);
  const [first] = file.volumes;
  const put = await SlowClient.put(user, transferId, 1, first!.length, first!.subarray(0, MIB));
  const get = await SlowClient.get(user, large.fileId, 1);
  const idle = await SlowClient.connect(service);
  await begun(2);

  const stopped = service.terminate();
  await eventually(async () => assert.equal(await connects(), false, 'a new connection was taken'));
  await put.send(first!.subarray(MIB, 2 * MIB));
  await put.send(first!.subarray(2 * MIB));
  assert.equal((await put.answer()).status, 200);
  const got = await get.answer();
  assert.equal(got.status, 200);
  assert.ok(got.body.equals(large.file.volumes[0]!), 'the download was cut');
  // Asserts the exit code, and that connections which have nothing more to say are not waited for.
  await stopped;
  assert.equal(idle.closed, true);

  await service.start();
  assert.deepEqual(await received(user, transferId), [1], 'the volume that was acknowledged');
  assertOk(await putVolume(user, transferId, 2, file.volumes[1]!));
  assertOk(await complete(user, transferId));
});

test('SIGTERM: connections that the kernel has accepted already are served', async () => {
  process.kill(service.pid, 'SIGSTOP');
  const clients = await Promise.all(Array.from({ length: 20 }, () => SlowClient.connect(service)));
  for (const client of clients) client.head('GET', '/healthz', user.token);
  const stopped = service.terminate();
  process.kill(service.pid, 'SIGCONT');
  for (const client of clients) assert.equal((await client.answer()).status, 200);
  await stopped;
  await service.start();
});

test('a client that stalls holds the end no longer than SZ_SHUTDOWN_GRACE', async () => {
  await service.restart({ env: { SZ_SHUTDOWN_GRACE: '1' } });
  const file = makeFile([3 * MIB]);
  const transferId = await begin(user, file);
  const [bytes] = file.volumes;
  const stalled = await SlowClient.put(user, transferId, 1, bytes!.length, bytes!.subarray(0, MIB));
  await begun(1);
  const startedAt = Date.now();
  await service.terminate();
  const took = Date.now() - startedAt;
  assert.ok(took >= 900, `${took} ms`);
  stalled.destroy();
  await service.start();
  assert.deepEqual(await received(user, transferId), []);
});

test('a second service on the same data folder is refused with a line that says why', async () => {
  class Second extends Service {
    override get data(): string {
      return service.data;
    }
  }
  const second = new Second();
  assert.equal(await second.startAndFail(), 2);
  const lines = second.log.trim().split('\n');
  assert.equal(lines.length, 1, second.log);
  assert.match(lines[0]!, /SZ_DATA.*in use by another szafa/);
  assertOk(await user.get('/api/auth/me'));
  await second.stop();
});

test('it starts again in less than two seconds', async (t) => {
  const times: number[] = [];
  const limit = 2000 * slowness();
  for (let tries = 0; tries < 3 && !times.some((time) => time < limit); tries++) {
    await service.terminate();
    const startedAt = Date.now();
    await service.start();
    times.push(Date.now() - startedAt);
  }
  t.diagnostic(`${times.join(', ')} ms, at most ${Math.round(limit)}`);
  assert.ok(Math.min(...times) < limit, `${times.join(', ')} ms, at most ${Math.round(limit)}`);
});

test('a worker that dies takes only its own connections along, and is replaced', async () => {
  const workers = await workersAnswer(service, 2);
  const large = await upload(user, makeFile([16 * MIB]));
  const file = makeFile(Array.from({ length: 4 }, () => 2 * MIB));
  const transferId = await begin(user, file);
  const clients: { client: SlowClient; finish: () => Promise<void>; worker: number }[] = [];
  for (const [at, bytes] of file.volumes.entries()) {
    const put = await SlowClient.put(user, transferId, at + 1, bytes.length, bytes.subarray(0, MIB));
    const get = await SlowClient.get(user, large.fileId, 1);
    clients.push(
      {
        client: put,
        finish: () => put.send(bytes.subarray(MIB)),
        worker: await servingWorker(service, put.socket.localPort!),
      },
      {
        client: get,
        finish: async () => get.read(),
        worker: await servingWorker(service, get.socket.localPort!),
      },
    );
  }
  const [victim] = workers;
  const spared = clients.filter(({ worker }) => worker !== victim);
  assert.ok(spared.length > 0 && spared.length < clients.length, 'connections are spread over the workers');
  killWorker(victim!);
  for (const { client, finish } of spared) {
    await finish();
    assert.equal((await client.answer()).status, 200);
  }
  for (const { client, worker } of clients) {
    client.read();
    if (worker === victim) await eventually(async () => assert.ok(client.closed));
    client.destroy();
  }
  assert.equal((await workersAnswer(service, 2)).includes(victim!), false);
  await putAll(user, transferId, file);
  assertOk(await complete(user, transferId));
});

test('workers killed together, a connection on its way to one of them: it is served, and a stop waits for nobody', async () => {
  await service.restart({ env: { ...LONG_GRACE.env, SZ_WORKERS: '3' } });
  await workersAnswer(service, 3);
  const [first, second] = workersOf(service);
  // It takes no connection any more, and does not say so.
  process.kill(second!, 'SIGSTOP');
  const clients = await Promise.all(Array.from({ length: 9 }, () => SlowClient.connect(service)));
  await accepted(service, clients);
  // While the primary looks after the first, the second dies: it sees the end of the process before that of the channel.
  const tracer = await Tracer.attach([service.pid!], { calls: 'wait4', fault: 'delay_enter=500000' });
  killWorker(first!);
  await sleep(100);
  killWorker(second!);
  await eventually(async () => {
    const living = workersOf(service);
    assert.ok(!living.includes(first!) && !living.includes(second!), 'the primary has not seen both ends');
  }, 60_000);
  await tracer[Symbol.asyncDispose]();
  await workersAnswer(service, 3);
  const waiting = clients.filter((client) => !client.closed);
  for (const client of waiting) client.head('GET', '/healthz', user.token);
  for (const client of waiting) assert.equal((await client.answer()).status, 200);
  for (const client of clients) client.destroy();
  await service.terminate();
  await service.restart({ env: { SZ_SHUTDOWN_GRACE: '1' } });
});

test('SIGTERM waits for no worker that is still starting', async () => {
  await service.restart({ env: { ...LONG_GRACE.env, SZ_WORKERS: '1' } });
  const [first] = workersOf(service);
  killWorker(first!);
  await eventually(async () => {
    const next = workersOf(service).find((pid) => pid !== first);
    assert.ok(next);
    // As long as a start can take.
    process.kill(next, 'SIGSTOP');
  });
  await service.terminate();
  service.set({ env: { SZ_SHUTDOWN_GRACE: '1' } });
  await service.start();
});

test('descriptors are closed when a client goes away, also with requests in the queue', async () => {
  const { fileId } = await upload(user, makeFile([24 * MIB]));
  const clients = await Promise.all(Array.from({ length: 6 }, () => SlowClient.get(user, fileId, 1)));
  // A second request behind the first one: its answer waits in the service and never begins.
  for (const client of clients) client.head('GET', `/api/files/${fileId}/chunk/1`, user.token);
  await begun(clients.length);
  for (const client of clients) client.destroy();
  await eventually(async () => {
    for (const pid of await workersAnswer(service, 2)) {
      assert.deepEqual(openFilesOf(pid, join(service.data, 'volumes')), [], 'a volume is still open');
    }
  }, 60_000);
});
