/** More connections than a process has file descriptors: honest clients keep theirs, and all is as before when the flood ends. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { workersOf } from '../faults/processes.ts';
import {
  eventually,
  makeFile,
  RawConnection,
  register,
  type Service,
  upload,
  usually,
  withService,
} from '../harness/index.ts';
import { parseMetrics } from '../harness/metrics.ts';

const DESCRIPTORS = 256;
/** What docs/operations.md says. */
const MOST_CONNECTIONS = DESCRIPTORS / 2 - 64;
const FLOOD = usually(500, 3000);
/** A minute would show the time after which silent connections are closed, which is no recovery. */
const RECOVERY_MS = 20_000;
const HEALTH = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';

const openFiles = (pid: number) => readdirSync(`/proc/${pid}/fd`).length;

async function isAnswered(connection: RawConnection): Promise<boolean> {
  const before = connection.answer.statuses.length;
  connection.write(HEALTH);
  const { statuses } = await connection.until((answer) => answer.closed || answer.statuses.length > before);
  return statuses.length > before && statuses.at(-1) === 200;
}

/** Every worker answers new connections: they get them in turn. */
async function assertAnswers(service: Service): Promise<void> {
  for (let times = 0; times < 6; times++) {
    const connection = await RawConnection.open(service.url);
    try {
      assert.ok(await isAnswered(connection), 'a new connection gets no answer');
    } finally {
      connection.destroy();
    }
  }
}

async function refused(service: Service): Promise<number> {
  const { text } = await service.call({ path: '/metrics', token: service.systemToken });
  return parseMetrics(text).get('szafa_connections_refused_total')!;
}

test('connections end where the limit of open files is near, not where it is reached', async () => {
  const within = ['sh', '-c', `ulimit -n ${DESCRIPTORS} && exec "$@"`, 'sh'];
  await withService({ within, env: { SZ_WORKERS: '2' } }, async (service) => {
    const user = await register(service);
    const processes = [service.pid, ...workersOf(service)];
    const honest = await Promise.all([1, 2].map(() => RawConnection.open(service.url)));
    for (const connection of honest) assert.ok(await isAnswered(connection));
    const flood: RawConnection[] = [];
    let most = 0;
    for (let at = 0; at < FLOOD; at++) {
      flood.push(await RawConnection.open(service.url));
      if (at % 20 === 0) most = Math.max(most, ...processes.map(openFiles));
    }
    await eventually(async () => {
      const open = flood.filter(({ answer }) => !answer.closed).length;
      assert.ok(open <= 2 * MOST_CONNECTIONS, `${open} connections are open`);
    });
    most = Math.max(most, ...processes.map(openFiles));
    assert.ok(most < DESCRIPTORS - MOST_CONNECTIONS, `${most} of ${DESCRIPTORS} files are open`);
    for (const connection of honest) assert.ok(await isAnswered(connection), 'an old connection was cut off');
    for (const connection of flood) connection.destroy();
    await eventually(() => assertAnswers(service), RECOVERY_MS);
    await upload(user, makeFile([1000]));
    assert.ok((await refused(service)) >= FLOOD - 2 * MOST_CONNECTIONS);
    for (const connection of honest) connection.destroy();
  });
});

test('a worker that could not take a connection, for want of a descriptor, gets others afterwards', async () => {
  await withService({ env: { SZ_WORKERS: '1' } }, async (service) => {
    await assertAnswers(service);
    const [worker] = workersOf(service);
    const limitTo = (count: number) =>
      execFileSync('prlimit', [`--pid=${worker}`, `--nofile=${count}:${DESCRIPTORS}`]);
    limitTo(openFiles(worker!));
    const lost = await Promise.all(Array.from({ length: 5 }, () => RawConnection.open(service.url)));
    for (const connection of lost) connection.write(HEALTH);
    const isLost = ({ answer }: RawConnection) => answer.closed || answer.statuses.length > 0;
    // Files that the worker closes in the meantime let one of them in.
    await eventually(async () => assert.ok(lost.every(isLost), 'a connection hangs'), RECOVERY_MS);
    await sleep(100);
    limitTo(DESCRIPTORS);
    await eventually(() => assertAnswers(service), RECOVERY_MS);
    for (const connection of lost) connection.destroy();
  });
});
