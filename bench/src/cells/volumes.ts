import type { Bench } from '../bench.ts';
import { patternSha256 } from '../load/pattern.ts';
import type { Load, LoadPool } from '../load/pool.ts';
import { syncFilesystem } from '../machine.ts';
import type { Peer, PeerName } from '../peers/peer.ts';
import type { Flow, PeerRound, VolumeResult } from '../results.ts';
import { cpuSeconds, peaks, resetPeaks } from '../usage.ts';

const MIB = 2 ** 20;

export interface VolumeCell {
  name: string;
  bytes: number;
  connections: number;
  count: number;
  /** Upper limit of rounds, for cells that transfer a lot of data. */
  maxRounds: number;
}

function cell(
  mib: number,
  connections: number,
  count: number,
  maxRounds = Number.POSITIVE_INFINITY,
): VolumeCell {
  return { name: `volumes-${mib}m-${connections}`, bytes: mib * MIB, connections, count, maxRounds };
}

/** At most 1 GiB per round, except for the last cell, which measures peak memory and runs once. */
export const volumeCells: VolumeCell[] = [
  cell(1, 1, 256),
  cell(1, 8, 512),
  cell(1, 64, 512),
  cell(8, 1, 64),
  cell(8, 8, 128),
  cell(8, 64, 128),
  cell(64, 1, 8),
  cell(64, 8, 16),
  cell(64, 64, 64, 1),
];

/** Few volumes of the two smaller sizes. */
export const quickVolumeCells: VolumeCell[] = [cell(1, 1, 8), cell(1, 8, 16), cell(8, 8, 8)];

export async function measureVolumes(bench: Bench, cell: VolumeCell): Promise<VolumeResult> {
  const { name, bytes, connections, count, maxRounds } = cell;
  const { names } = bench.fleet;
  const measured = new Map(names.map((peer) => [peer, [] as PeerRound[]]));
  for (let round = 0; round < Math.min(bench.rounds, maxRounds); round++) {
    // Rotate the order, so that a peer does not always start first.
    const order = names.map((_, i) => names[(i + round) % names.length]!);
    for (const peer of order) {
      const done = await tryPeer(bench, peer, cell);
      measured.get(peer)!.push(done);
      bench.log(`${name} round ${round + 1} ${peer}: ${summary(done)}`);
    }
  }
  return { cell: name, volumeBytes: bytes, connections, volumes: count, peers: Object.fromEntries(measured) };
}

/** Lets a server compile and allocate what it needs before it is measured. */
export async function warmUp(pool: LoadPool, peer: Peer): Promise<void> {
  const batch = await peer.prepare(32, MIB);
  await pool.run(peer.port, 8, batch.puts);
  await pool.run(peer.port, 8, await batch.gets());
  await batch.remove();
}

/** Measures a peer. A failure is recorded as such and never counts as a slow or fast round. */
async function tryPeer(bench: Bench, name: PeerName, cell: VolumeCell): Promise<PeerRound> {
  try {
    return await measurePeer(bench, await bench.fleet.get(name), cell);
  } catch (error) {
    await bench.fleet.discard(name);
    return { failure: error instanceof Error ? error.message : String(error) };
  }
}

async function measurePeer(bench: Bench, peer: Peer, cell: VolumeCell): Promise<PeerRound> {
  const { pool, folder } = bench;
  const batch = await peer.prepare(cell.count, cell.bytes);
  await syncFilesystem(folder);
  const put = await observe(peer, cell, () => pool.run(peer.port, cell.connections, batch.puts));
  const syncSeconds = await syncFilesystem(folder);
  const gets = await batch.gets();
  // Read once before measuring, so that all volumes are in the page cache even if a server bypassed it. Compare the content of one.
  const [first, ...rest] = gets;
  const compared = { ...first!, expectSha256: patternSha256(cell.bytes) };
  await pool.run(peer.port, cell.connections, [compared, ...rest]);
  const get = await observe(peer, cell, () => pool.run(peer.port, cell.connections, gets));
  await batch.remove();
  await syncFilesystem(folder);
  const megabytes = (cell.count * cell.bytes) / 1e6;
  return { put: { ...put.flow, durableMbps: megabytes / (put.load.seconds + syncSeconds) }, get: get.flow };
}

async function observe(
  peer: Peer,
  cell: VolumeCell,
  work: () => Promise<Load>,
): Promise<{ load: Load; flow: Flow }> {
  const { pid } = peer.daemon;
  const gigabytes = (cell.count * cell.bytes) / 1e9;
  resetPeaks(pid);
  const cpuBefore = cpuSeconds(pid);
  const load = await work();
  return {
    load,
    flow: {
      mbps: (gigabytes * 1000) / load.seconds,
      cpuPerGb: (cpuSeconds(pid) - cpuBefore) / gigabytes,
      clientCpuPerGb: load.cpuSeconds / gigabytes,
      peakBytes: peaks(pid)
        .map(({ peakBytes }) => peakBytes)
        .sort((a, b) => b - a),
    },
  };
}

function summary(round: PeerRound): string {
  if ('failure' in round) return `failed: ${round.failure}`;
  const { put, get } = round;
  return `PUT ${put.mbps.toFixed(0)} MB/s, durable ${put.durableMbps.toFixed(0)}; GET ${get.mbps.toFixed(0)}`;
}
