/**
 * Twenty thousand hostile requests, a hundred connections at a time, against the whole server: no answer of 5xx, no dead
 * worker, memory and open files as before, and an honest user beside them whose slowest request stays under two seconds (the median of three
 * runs). SZ_TEST_FLOOD sets how many.
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { workersOf } from '../faults/processes.ts';
import {
  begin,
  makeFile,
  register,
  type Service,
  slowness,
  upload,
  useService,
  usually,
} from '../harness/index.ts';
import { useHonestly } from './honest.ts';
import { ACTS, type Act, type Means } from './hostile-acts.ts';
import { HostileClient } from './hostile-client.ts';

const REQUESTS = Number(process.env['SZ_TEST_FLOOD'] ?? usually(2000, 20_000));
const RUNS = usually(1, 3);
const AT_ONCE = 100;
const VOLUME_BYTES = 150_000;
const MIB = 1024 * 1024;
/** Between the first quarter of the last run and its end; what grows by each connection would be far more. */
const MOST_GROWTH_BYTES = 64 * MIB;
const HONEST_MS = 2000;

const service = useService();

const rss = (pid: number) =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024;
const openFiles = (pid: number) => readdirSync(`/proc/${pid}/fd`).length;

async function meansOf(of: Service): Promise<Means> {
  const user = await register(of);
  const { fileId } = await upload(user, makeFile([VOLUME_BYTES]));
  const transferId = await begin(user, makeFile([VOLUME_BYTES]));
  return { token: user.token, fileId, transferId, size: VOLUME_BYTES };
}

const WHOLE = ACTS.reduce((sum, [share]) => sum + share, 0);

function someAct(): Act {
  let left = (randomInt(1e6) / 1e6) * WHOLE;
  for (const [share, act] of ACTS) {
    left -= share;
    if (left < 0) return act;
  }
  return ACTS[0]![1];
}

/** One flood; how the honest user fared, and the memory of the workers at each quarter of it. */
async function flood(means: Means, statuses: Map<number, number>) {
  const workers = workersOf(service);
  const port = Number(new URL(service.url).port);
  const stop = useHonestly(service.url, (await register(service)).token);
  const memory: number[][] = [workers.map(rss)];
  let requests = 0;
  let connections = 0;
  const attack = async () => {
    while (requests < REQUESTS) {
      const act = someAct();
      const client = new HostileClient(port);
      connections++;
      try {
        const made = await act(client, means);
        requests += made;
      } catch (error) {
        throw new Error(`${act.name}: ${(error as Error).message}`, { cause: error });
      } finally {
        client.leave();
      }
      for (const status of client.statuses) {
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        assert.ok(status < 500 || status === 507, `${act.name}: ${client.text}`);
      }
      if (requests >= (REQUESTS / 4) * memory.length) memory.push(workers.map(rss));
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, attack));
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
  return { use: await stop(), memory, requests, connections };
}

test(`${REQUESTS} hostile requests: no 5xx, no dead worker, memory flat, an honest user waits for nothing`, {
  timeout: 1_800_000,
}, async (context) => {
  const means = await meansOf(service);
  const workers = workersOf(service);
  const files = workers.map(openFiles);
  const statuses = new Map<number, number>();
  const slowest: number[] = [];
  let allowed = HONEST_MS * slowness();
  let memory: number[][] = [];
  for (let run = 0; run < RUNS; run++) {
    const since = performance.now();
    const { use, requests, connections, ...rest } = await flood(means, statuses);
    memory = rest.memory;
    slowest.push(use.slowestMs);
    const seconds = Math.round((performance.now() - since) / 1000);
    context.diagnostic(
      `${requests} requests on ${connections} connections in ${seconds} s; the slowest of ${use.requests} honest ones, ` +
        `${use.slowest}, took ${Math.round(use.slowestMs)} ms`,
    );
  }
  allowed = Math.max(allowed, HONEST_MS * slowness());
  const shown = memory.map((all) => all.map((bytes) => Math.round(bytes / MIB)).join(' and ')).join(', ');
  context.diagnostic(`RSS of the workers in MiB at 0, 25, 50, 75 and 100 %: ${shown}`);
  context.diagnostic(`answers: ${JSON.stringify(Object.fromEntries([...statuses].sort()))}`);

  assert.deepEqual(workersOf(service), workers, 'a worker died');
  const [, quarter] = memory;
  for (const [at, before] of quarter!.entries()) {
    const growth = memory.at(-1)![at]! - before;
    assert.ok(growth < MOST_GROWTH_BYTES, `a worker grew by ${Math.round(growth / MIB)} MiB: ${shown}`);
  }
  for (const [at, pid] of workers.entries()) {
    for (let tries = 0; openFiles(pid) > files[at]! + 8; tries++) {
      assert.ok(tries < 900, `${openFiles(pid)} files are open instead of ${files[at]}`);
      await sleep(100);
    }
  }
  const median = slowest.sort((a, b) => a - b)[Math.floor(RUNS / 2)]!;
  assert.ok(median < allowed, `an honest request took ${Math.round(median)} of ${Math.round(allowed)} ms`);
  assert.doesNotMatch(service.log, /"level":(50|60)/, 'an error in the log');
});
