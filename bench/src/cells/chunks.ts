import { join } from 'node:path';
import type { Bench } from '../bench.ts';
import { Szafa } from '../peers/szafa.ts';
import type { ChunksResult } from '../results.ts';
import { median, quantile } from '../stats.ts';

const VOLUME_BYTES = 4096;

/** Measures the PUT of a small volume in transfers of one and of ten thousand volumes. Both must take the same time. */
export async function measureChunks(bench: Bench): Promise<ChunksResult[]> {
  const puts = bench.quick ? 20 : 300;
  const szafa = await Szafa.start(join(bench.folder, 'chunks'));
  try {
    const counts = [1, 10_000].map((chunkCount) => ({ chunkCount, times: [] as number[] }));
    // The first round only warms up.
    for (let round = 0; round <= bench.rounds; round++) {
      for (const { chunkCount, times } of counts) {
        const transfers: string[] = [];
        for (let i = 0; i < (chunkCount === 1 ? puts : 1); i++) {
          transfers.push(await szafa.init(chunkCount, VOLUME_BYTES));
        }
        const requests = Array.from({ length: puts }, (_, i) =>
          szafa.put(transfers[i] ?? transfers[0]!, chunkCount === 1 ? 1 : i + 1, VOLUME_BYTES),
        );
        const { latenciesMs } = await bench.pool.run(szafa.port, 1, requests);
        for (const id of transfers) await szafa.call('cancel', { transfer_id: id });
        if (round === 0) continue;
        times.push(quantile(latenciesMs, 0.5));
        bench.log(`chunks round ${round}, ${chunkCount} chunks: PUT ${times.at(-1)!.toFixed(2)} ms`);
      }
    }
    return counts.map(({ chunkCount, times }) => ({ chunkCount, putMs: median(times) }));
  } finally {
    await szafa.daemon.stop();
  }
}
