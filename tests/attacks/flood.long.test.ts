/**
 * A hundred thousand hostile requests, on tens of thousands of connections, against the whole service: no answer of 5xx, no dead
 * worker, memory and open files as before, and an honest user beside them who notices nothing. SZ_TEST_FLOOD sets how many.
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathOf } from '@szafa/protocol';
import { workersOf } from '../faults/processes.ts';
import { assertBytes } from '../harness/bytes.ts';
import {
  assertOk,
  begin,
  complete,
  makeFile,
  putAll,
  register,
  type Service,
  upload,
  useService,
} from '../harness/index.ts';
import { ACTS, type Act, type Means } from './hostile-acts.ts';
import { HostileClient } from './hostile-client.ts';

const REQUESTS = Number(process.env['SZ_TEST_FLOOD'] ?? 100_000);
const AT_ONCE = 48;
const VOLUME_BYTES = 150_000;
const MIB = 1024 * 1024;
/** Between a quarter of the flood and its end; what grows by each connection would be far more. */
const MOST_GROWTH_BYTES = 64 * MIB;
const HONEST_MS = 30_000;

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

/** Uploads and fetches until told to stop; the longest it took. */
async function honest(of: Service, stop: AbortSignal): Promise<number> {
  const user = await register(of);
  let longest = 0;
  while (!stop.aborted) {
    const since = performance.now();
    const file = makeFile([1000]);
    const transferId = await begin(user, file);
    await putAll(user, transferId, file);
    const fileId = String((await complete(user, transferId)).json['file_id']);
    const found = await user.get(pathOf('readVolume', { file_id: fileId, idx: 1 }));
    assertBytes(found.body, file.volumes[0]!);
    assertOk(await user.delete(pathOf('deleteFile', { file_id: fileId })));
    longest = Math.max(longest, performance.now() - since);
    await sleep(500);
  }
  return longest;
}

test(`${REQUESTS} hostile requests: no 5xx, no dead worker, memory flat`, {
  timeout: 1_800_000,
}, async (context) => {
  const means = await meansOf(service);
  const workers = workersOf(service);
  const files = workers.map(openFiles);
  const port = Number(new URL(service.url).port);
  const stop = new AbortController();
  const user = honest(service, stop.signal);
  const statuses = new Map<number, number>();
  const memory: number[][] = [workers.map(rss)];
  let requests = 0;
  let connections = 0;
  const since = performance.now();

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
  } finally {
    stop.abort();
  }
  const longest = await user;
  const seconds = Math.round((performance.now() - since) / 1000);
  const shown = memory.map((all) => all.map((bytes) => Math.round(bytes / MIB)).join(' and ')).join(', ');
  context.diagnostic(`${requests} requests on ${connections} connections in ${seconds} s`);
  context.diagnostic(`RSS of the workers in MiB at 0, 25, 50, 75 and 100 %: ${shown}`);
  context.diagnostic(`an honest file took ${Math.round(longest)} ms at most`);
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
  assert.ok(longest < HONEST_MS, `an honest file took ${longest} ms`);
  assert.doesNotMatch(service.log, /"level":(50|60)/, 'an error in the log');
});
