/** A thread with an honest user, who uploads and downloads until told to stop: beside attackers in one thread it would wait for them. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { pathOf } from '@szafa/protocol';
import { type Call, makeFile, send } from '../harness/index.ts';

/** The requests of such a user: how many, and the slowest of them. */
export interface HonestUse {
  requests: number;
  slowestMs: number;
  slowest: string;
}

const PAUSE_MS = 20;
const VOLUME_BYTES = 100_000;

/** Returns what ends it. */
export function useHonestly(url: string, token: string): () => Promise<HonestUse> {
  const worker = new Worker(new URL(import.meta.url), { workerData: { url, token } });
  const used = new Promise<HonestUse>((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  // It is told when the use ends.
  used.catch(() => undefined);
  return () => {
    worker.postMessage('stop');
    return used;
  };
}

async function run({ url, token }: { url: string; token: string }): Promise<HonestUse> {
  const use: HonestUse = { requests: 0, slowestMs: 0, slowest: '' };
  let stopped = false;
  parentPort!.once('message', () => {
    stopped = true;
  });
  const ask = async (what: string, call: Call) => {
    const since = performance.now();
    const answer = await send(url, { ...call, token });
    const ms = performance.now() - since;
    assert.equal(answer.status, 200, `${what}: ${answer.excerpt}`);
    use.requests++;
    if (ms > use.slowestMs) Object.assign(use, { slowestMs: ms, slowest: what });
    await sleep(PAUSE_MS);
    return answer;
  };
  while (!stopped) {
    const file = makeFile([VOLUME_BYTES]);
    const begun = await ask('init', { method: 'POST', path: pathOf('init'), json: file.init });
    const transfer_id = String(begun.json['transfer_id']);
    const [volume] = file.volumes;
    await ask('PUT', { method: 'PUT', path: pathOf('writeVolume', { transfer_id, idx: 1 }), body: volume! });
    const done = await ask('complete', { method: 'POST', path: pathOf('complete', { transfer_id }) });
    const file_id = String(done.json['file_id']);
    const found = await ask('GET', { path: pathOf('readVolume', { file_id, idx: 1 }) });
    assert.ok(found.body.equals(volume!), 'other bytes came back');
    await ask('delete', { method: 'DELETE', path: pathOf('deleteFile', { file_id }) });
  }
  return use;
}

if (!isMainThread) {
  parentPort!.postMessage(await run(workerData));
  // Nothing listens any more, and the thread ends.
}
