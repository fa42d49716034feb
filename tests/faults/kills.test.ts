import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, afterEach, before, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually, RawConnection, Service, usually } from '../harness/index.ts';
import { Actor, Cut, cutOff, rarest, seeded } from './actor.ts';
import { assertTidyAfterCrash } from './disk.ts';
import { killWorker, workersAnswer, workersOf } from './processes.ts';

const TREE_KILLS = usually(2, 25);
const WORKER_KILLS = usually(2, 25);
const ACTORS = 4;

const service = new Service({ env: { SZ_SWEEP_INTERVAL: '1', SZ_WORKERS: '2' } });
const seed = Date.now() % 1_000_000;
const random = seeded(seed);
let actors: Actor[] = [];

before(async () => {
  await service.start();
  actors = await Promise.all(Array.from({ length: ACTORS }, () => Actor.create(service, random)));
});
afterEach((context) => {
  const { passed, diagnostic } = context as TestContext;
  if (!passed) diagnostic.call(context, `seed ${seed}; log of the service:\n${service.tail()}`);
});
after(() => service.stop());

test('kill -9 of the whole service at any moment loses nothing and leaves nothing half-done', async (t) => {
  for (let kills = 0; kills < TREE_KILLS; kills++) {
    const stop = new AbortController();
    const working = Promise.all(actors.map((actor) => actor.work(stop.signal, rarest(actors, random))));
    await Promise.race([working, sleep(20 + random() * 250)]);
    await service.kill9();
    stop.abort();
    await working;
    await service.start();
    await Promise.all(actors.map((actor) => actor.reconcile()));
  }
  await assertTidyAfterCrash(service);
  t.diagnostic(`cut off in the middle: ${JSON.stringify(cutOff(actors))}`);
});

test('kill -9 of single workers: the others go on, the dead are replaced, nothing is lost', async (t) => {
  const end = new AbortController();
  const killing = (async () => {
    for (let kills = 0; kills < WORKER_KILLS; ) {
      await sleep(random() * 200);
      // Two that serve at least: one may die, and now and then it is one that is only just starting.
      await workersAnswer(service, 2);
      const workers = workersOf(service);
      killWorker(workers[Math.floor(random() * workers.length)]!);
      kills++;
    }
  })().finally(() => end.abort());
  await Promise.all([
    killing,
    ...actors.map(async (actor) => {
      while (!end.signal.aborted) {
        await actor.work(end.signal, rarest(actors, random));
        await again(() => actor.reconcile());
      }
    }),
  ]);
  await Promise.all(actors.map((actor) => again(() => actor.reconcile())));
  await assertTidyAfterCrash(service);
  const counts = cutOff(actors);
  t.diagnostic(`cut off in the middle: ${JSON.stringify(counts)}`);
  const never = Object.entries(counts).flatMap(([kind, count]) => (count === 0 ? [kind] : []));
  assert.ok(never.length < usually(Object.keys(counts).length, 1), `never cut off: ${never}`);
});

test('a worker that dies before the primary answers its message: the primary starts another one', async () => {
  const get = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';
  const body = JSON.stringify({ username: 'somebody' });
  const post = `POST /api/auth/profile HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const one = await new Service({ env: { SZ_WORKERS: '1' } }).start();
  try {
    const connections = await Promise.all([1, 2].map(() => RawConnection.open(one.url)));
    const [asking, probing] = connections as [RawConnection, RawConnection];
    const assertAnswered = async (connection: RawConnection) => {
      const before = connection.answer.statuses.length;
      connection.write(get);
      await connection.until(({ statuses }) => statuses.length > before);
    };
    // The worker has both by then.
    for (const connection of connections) await assertAnswered(connection);
    const [worker] = workersOf(one);
    process.kill(one.pid, 'SIGSTOP');
    try {
      // The worker asks the primary how often an address may do this.
      asking.write(post);
      for (let times = 0; times < 10; times++) await assertAnswered(probing);
      killWorker(worker!);
      await eventually(async () => assert.match(readFileSync(`/proc/${worker}/stat`, 'utf8'), /\) Z /));
    } finally {
      process.kill(one.pid, 'SIGCONT');
      for (const connection of connections) connection.destroy();
    }
    await eventually(async () => {
      assert.match(one.log, /worker died/);
      assert.ok(workersOf(one).some((pid) => pid !== worker));
    });
  } finally {
    await one.kill9();
    await one.discard();
  }
});

/** Checks are requests too and may meet a worker that is being killed. */
async function again(check: () => Promise<void>): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      return await check();
    } catch (error) {
      const { code } = (error instanceof Cut ? error.cause : error) as NodeJS.ErrnoException;
      if (tries === 200 || !['ECONNRESET', 'EPIPE', 'ECONNREFUSED'].includes(code ?? '')) throw error;
      await sleep(50);
    }
  }
}
