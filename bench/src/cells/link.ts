import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bench } from '../bench.ts';
import { startSzafa } from '../clients/start.ts';
import { syncFilesystem } from '../machine.ts';
import type { LinkResult } from '../results.ts';
import { trip, writeFiles } from './clients.ts';

const MIB = 2 ** 20;

/** Downloads one file as its owner and through a link, alternating. */
export async function measureLink(bench: Bench): Promise<LinkResult> {
  const folder = join(bench.folder, 'link');
  await mkdir(folder);
  const bytes = (bench.quick ? 20 : 512) * MIB;
  const source = join(folder, 'source');
  await writeFiles(source, { files: 1, bytes });
  const client = await startSzafa(folder);
  const run = (command: string) =>
    execFileSync('bash', ['-c', command], { env: client.env, encoding: 'utf8' });
  try {
    run(client.up(source, 'given'));
    const { link } = JSON.parse(run(client.share('given/source/f0'))) as { link: string };
    const ways = [
      ['own', (target: string) => client.down('given', target, source)],
      ['link', (target: string) => client.downLink(link, target)],
    ] as const;
    const result: LinkResult = { bytes, rounds: [] };
    // The first round is a warm-up.
    for (let round = 0; round <= bench.rounds; round++) {
      const mbps = { own: 0, link: 0 };
      for (const [way, down] of round % 2 === 0 ? ways : ways.toReversed()) {
        const target = await mkdtemp(join(folder, 'target-'));
        mbps[way] = (await trip(client, down(target), bytes, folder)).mbps;
        await rm(target, { recursive: true });
        await syncFilesystem(folder);
      }
      if (round === 0) continue;
      result.rounds.push(mbps);
      bench.log(`link, round ${round}: own ${mbps.own.toFixed(0)}, link ${mbps.link.toFixed(0)} MB/s`);
    }
    return result;
  } finally {
    await client.stop();
  }
}
