import { chmod, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Service } from '../../../tests/harness/index.ts';
import { fromFolder, Nginx } from '../../../tests/nodes/nginx.ts';
import type { Bench } from '../bench.ts';
import type { LoadRequest } from '../load/request.ts';
import { findProgram } from '../machine.ts';
import { startNginx } from '../peers/nginx.ts';
import type { Peer } from '../peers/peer.ts';
import { Szafa } from '../peers/szafa.ts';
import type { AccelResult } from '../results.ts';
import { cpuSeconds } from '../usage.ts';
import { warmUp } from './volumes.ts';

const MIB = 2 ** 20;
const CONNECTIONS = 8;
const VOLUMES = 64;
const WARM_UP = 500;
/** How often a round alternates between the two servers, because the machine's speed changes within a second. */
const SLICES = 4;

/** Measures GET through the nginx of deploy/, which sends the volumes itself (SZ_ACCEL), and through plain nginx with the same bytes. */
export async function measureAccel(bench: Bench): Promise<AccelResult> {
  const bytes = bench.quick ? MIB : 8 * MIB;
  const folder = join(bench.folder, 'accel');
  await mkdir(folder);
  const alone = await startNginx(findProgram('nginx')!, join(folder, 'nginx'));
  // Use the default sweep interval: nothing is deleted here.
  const env = { SZ_ACCEL: '1', SZ_TRUST_PROXY: '127.0.0.1', SZ_SWEEP_INTERVAL: '5' };
  const szafa = await Szafa.start(join(folder, 'szafa'), 'bench', env);
  for (let place = szafa.data; place !== dirname(bench.folder); place = dirname(place))
    await chmod(place, 0o710);
  const node = { url: `http://127.0.0.1:${szafa.port}` } as Service;
  const front = await Nginx.create([node, node], fromFolder(szafa.data));
  const frontPort = Number(new URL(front.url).port);
  try {
    const stored = async (peer: Peer): Promise<LoadRequest[]> => {
      await warmUp(bench.pool, peer);
      const batch = await peer.prepare(VOLUMES, bytes);
      await bench.pool.run(peer.port, CONNECTIONS, batch.puts);
      return batch.gets();
    };
    const [theirs, ours] = [await stored(alone), await stored(szafa)];
    const seconds = async (port: number, gets: LoadRequest[]) =>
      (await bench.pool.run(port, CONNECTIONS, gets)).seconds;
    // Warm up, so that JIT compilation does not count in the CPU time per GB.
    const small = await szafa.prepare(WARM_UP, 1);
    await bench.pool.run(szafa.port, CONNECTIONS, small.puts);
    const smallGets = await small.gets();
    for (let i = 0; i < 8; i++) await seconds(frontPort, smallGets);
    for (const [port, gets] of [
      [alone.port, theirs],
      [frontPort, ours],
    ] as const)
      await seconds(port, gets);
    const gigabytes = (SLICES * VOLUMES * bytes) / 1e9;
    const rounds: AccelResult['rounds'] = [];
    for (let round = 0; round < bench.rounds; round++) {
      let [left, right, cpu] = [0, 0, 0];
      for (let slice = 0; slice < SLICES; slice++) {
        left += await seconds(alone.port, theirs);
        const before = cpuSeconds(szafa.daemon.pid);
        right += await seconds(frontPort, ours);
        cpu += cpuSeconds(szafa.daemon.pid) - before;
      }
      const [nginxMbps, mbps] = [(gigabytes * 1000) / left, (gigabytes * 1000) / right];
      rounds.push({ nginxMbps, mbps, nodeCpuPerGb: cpu / gigabytes });
      const rates = `nginx ${nginxMbps.toFixed(0)}, with a node ${mbps.toFixed(0)} MB/s`;
      bench.log(`accel round ${round + 1}: ${rates}, node ${(cpu / gigabytes).toFixed(3)} CPU s a GB`);
    }
    return { bytes, connections: CONNECTIONS, rounds };
  } finally {
    await front.stop();
    await Promise.all([szafa.daemon.stop(), alone.daemon.stop()]);
  }
}
