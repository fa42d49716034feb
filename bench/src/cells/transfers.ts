import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bench } from '../bench.ts';
import { Connection } from '../load/connection.ts';
import type { LoadRequest } from '../load/request.ts';
import { syncFilesystem } from '../machine.ts';
import { Szafa } from '../peers/szafa.ts';
import type { TransferResult } from '../results.ts';
import { median } from '../stats.ts';

const VOLUME_BYTES = 1;
const CONNECTIONS = 16;

/** Measures init and complete with few and with many volumes. The PUTs in between do not count. */
export async function measureTransfers(bench: Bench): Promise<TransferResult[]> {
  const szafa = await Szafa.start(join(bench.folder, 'transfers'));
  try {
    const sizes = (bench.quick ? [1, 100] : [1, 100, 10_000]).map((volumes) => ({
      volumes,
      init: [] as number[],
      complete: [] as number[],
    }));
    // Warm up: the first call triggers JIT compilation.
    await measureRound(bench, szafa, 1);
    for (let round = 1; round <= bench.rounds; round++) {
      for (const { volumes, init, complete } of sizes) {
        const { initMs, completeMs } = await measureRound(bench, szafa, volumes);
        init.push(initMs);
        complete.push(completeMs);
        const times = `init ${initMs.toFixed(1)} ms, complete ${completeMs.toFixed(1)} ms`;
        bench.log(`transfers round ${round}, ${volumes} volumes: ${times}`);
      }
    }
    const results: TransferResult[] = [];
    for (const { volumes, init, complete } of sizes) {
      const readdirMs = await readdirTime(join(bench.folder, `names-${volumes}`), volumes);
      results.push({ volumes, initMs: median(init), completeMs: median(complete), readdirMs });
    }
    return results;
  } finally {
    await szafa.daemon.stop();
  }
}

interface Times {
  initMs: number;
  completeMs: number;
}

/** Returns the median time of several inits, because a single one is short and varies. */
export async function initTime(szafa: Szafa, volumes: number): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < 5; i++) {
    const { answer, ms } = await timed<{ transfer_id: string }>(
      szafa.port,
      szafa.request('init', {}, szafa.initBody(volumes, VOLUME_BYTES)),
    );
    times.push(ms);
    await szafa.call('cancel', { transfer_id: answer.transfer_id });
  }
  return median(times);
}

/** Times one transfer and deletes its file, for a comparison of stores. */
export async function transferTimes(bench: Bench, szafa: Szafa, volumes: number): Promise<Times> {
  const { fileId, ...times } = await transfer(bench, szafa, volumes);
  await szafa.call('deleteFile', { file_id: fileId });
  return times;
}

/** Measures one round. Small transfers run several times, because a single one is short and varies. */
async function measureRound(bench: Bench, szafa: Szafa, volumes: number): Promise<Times> {
  const before = await szafa.files();
  const stored: string[] = [];
  const times: Times[] = [];
  for (let i = 0; i < (volumes > 100 ? 1 : 9); i++) {
    const { fileId, ...time } = await transfer(bench, szafa, volumes);
    stored.push(fileId);
    times.push(time);
  }
  for (const file_id of stored) await szafa.call('deleteFile', { file_id });
  await szafa.shrunkTo(before);
  return {
    initMs: median(times.map(({ initMs }) => initMs)),
    completeMs: median(times.map(({ completeMs }) => completeMs)),
  };
}

async function transfer(bench: Bench, szafa: Szafa, volumes: number): Promise<Times & { fileId: string }> {
  const init = await timed<{ transfer_id: string }>(
    szafa.port,
    szafa.request('init', {}, szafa.initBody(volumes, VOLUME_BYTES)),
  );
  const { transfer_id } = init.answer;
  const puts = Array.from({ length: volumes }, (_, i) => szafa.put(transfer_id, i + 1, VOLUME_BYTES));
  await bench.pool.run(szafa.port, Math.min(CONNECTIONS, volumes), puts);
  // Sync first: writes left over from the PUTs must not count in complete.
  await syncFilesystem(bench.folder);
  const complete = await timed<{ file_id: string }>(szafa.port, szafa.request('complete', { transfer_id }));
  return { initMs: init.ms, completeMs: complete.ms, fileId: complete.answer.file_id };
}

/** Times a request on a new connection. */
export async function timed<T>(
  port: number,
  request: LoadRequest,
  parse: (text: string) => T = JSON.parse,
): Promise<{ answer: T; ms: number }> {
  const connection = await Connection.open(port);
  try {
    const begun = performance.now();
    const { text } = await connection.exchange(request, true);
    const ms = performance.now() - begun;
    return { answer: parse(text), ms };
  } finally {
    connection.close();
  }
}

/** Times listing a folder with this number of files, which complete cannot avoid. */
async function readdirTime(folder: string, files: number): Promise<number> {
  await mkdir(folder);
  for (let i = 1; i <= files; i++) await writeFile(join(folder, String(i)), '1');
  const times: number[] = [];
  for (let i = 0; i < 10; i++) {
    const begun = performance.now();
    await readdir(folder);
    times.push(performance.now() - begun);
  }
  await rm(folder, { recursive: true });
  return median(times);
}
