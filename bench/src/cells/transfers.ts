import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bench } from '../bench.ts';
import { Connection } from '../load/connection.ts';
import { Szafa } from '../peers/szafa.ts';
import type { TransferResult } from '../results.ts';
import { median } from '../stats.ts';

const VOLUME_BYTES = 1;
const CONNECTIONS = 16;
/** The large transfers are thousands of durable PUTs each, which are not what is measured here. */
const LARGE = { volumes: 1000, maxRounds: 3 };

/** How long init and complete take with few and with many volumes; the PUTs in between do not count. */
export async function measureTransfers(bench: Bench): Promise<TransferResult[]> {
  const szafa = await Szafa.start(join(bench.folder, 'transfers'));
  try {
    const sizes = (bench.quick ? [1, 100] : [1, 100, 10_000]).map((volumes) => ({
      volumes,
      init: [] as number[],
      complete: [] as number[],
    }));
    await transfer(bench, szafa, 1);
    for (let round = 0; round < bench.rounds; round++) {
      for (const { volumes, init, complete } of sizes) {
        if (volumes >= LARGE.volumes && round >= LARGE.maxRounds) continue;
        // A single small request is over in a moment and varies; several of them make one value.
        const repeats = volumes >= LARGE.volumes ? 1 : 5;
        const runs = [];
        for (let i = 0; i < repeats; i++) runs.push(await transfer(bench, szafa, volumes));
        init.push(median(runs.map((run) => run.initMs)));
        complete.push(median(runs.map((run) => run.completeMs)));
        const times = `init ${init.at(-1)!.toFixed(1)} ms, complete ${complete.at(-1)!.toFixed(1)} ms`;
        bench.log(`transfers round ${round + 1}, ${volumes} volumes: ${times}`);
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

async function transfer(
  bench: Bench,
  szafa: Szafa,
  volumes: number,
): Promise<{ initMs: number; completeMs: number }> {
  const before = await szafa.files();
  const connection = await Connection.open(szafa.port);
  const timed = async <T>(...args: Parameters<Szafa['request']>): Promise<[T, number]> => {
    const request = szafa.request(...args);
    const begun = performance.now();
    const { text } = await connection.exchange(request, true);
    return [JSON.parse(text) as T, performance.now() - begun];
  };
  try {
    const [{ transfer_id }, initMs] = await timed<{ transfer_id: string }>(
      'init',
      {},
      szafa.initBody(volumes, VOLUME_BYTES),
    );
    const puts = Array.from({ length: volumes }, (_, i) => szafa.put(transfer_id, i + 1, VOLUME_BYTES));
    await bench.pool.run(szafa.port, Math.min(CONNECTIONS, volumes), puts);
    const [{ file_id }, completeMs] = await timed<{ file_id: string }>('complete', { transfer_id });
    await szafa.call('deleteFile', { file_id });
    if (volumes >= LARGE.volumes) await szafa.shrunkTo(before);
    return { initMs, completeMs };
  } finally {
    connection.close();
  }
}

/** The part of complete that cannot be had for less: reading the names of the volumes that are there. */
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
