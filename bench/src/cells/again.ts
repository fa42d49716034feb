import { spawnSync } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bench } from '../bench.ts';
import { startSzafa } from '../clients/start.ts';
import type { AgainResult } from '../results.ts';
import { writeFiles } from './clients.ts';

/** Measures a repeated `put` of many small files that have not changed. */
export async function measureAgain(bench: Bench): Promise<AgainResult> {
  const folder = join(bench.folder, 'again');
  await mkdir(folder);
  const files = bench.quick ? 50 : 5000;
  const source = join(folder, 'source');
  await writeFiles(source, { files, bytes: 100 });
  const client = await startSzafa(folder);
  try {
    const put = (): number => {
      const begun = performance.now();
      const { status, stderr } = spawnSync('bash', ['-c', client.up(source, 'again')], {
        env: client.env,
        encoding: 'utf8',
      });
      if (status !== 0) throw new Error(`szafa put ended with ${status}: ${stderr.slice(0, 300)}`);
      return (performance.now() - begun) / 1000;
    };
    put();
    const seconds: number[] = [];
    for (let round = 1; round <= bench.rounds; round++) {
      seconds.push(put());
      bench.log(`again, round ${round}: ${seconds.at(-1)!.toFixed(2)} s`);
    }
    return { files, seconds };
  } finally {
    await client.stop();
  }
}
