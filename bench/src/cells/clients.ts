import { spawn } from 'node:child_process';
import { randomFillSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bench } from '../bench.ts';
import type { Client, ClientName } from '../clients/client.ts';
import { contentOf, labelOf, startClients } from '../clients/start.ts';
import { syncFilesystem } from '../machine.ts';
import type { ClientResult, ClientRound, Trip } from '../results.ts';
import { peaks } from '../usage.ts';

const MIB = 2 ** 20;
const PEAK_MS = 100;

interface Files {
  files: number;
  bytes: number;
}

interface Load extends Files {
  name: string;
  /** Files transferred before the measurement, because a real server is always warmed up. */
  warmUp: Files;
  /** The only client to measure. If absent, all clients are measured. */
  only?: ClientName;
}

const loads: Load[] = [
  { name: 'one file of 1 GiB', files: 1, bytes: 1024 * MIB, warmUp: { files: 1, bytes: 64 * MIB } },
  {
    // Measured only to compare szafa's rate with that of the 1 GiB file.
    name: 'one file of 4 GiB',
    files: 1,
    bytes: 4096 * MIB,
    warmUp: { files: 1, bytes: 64 * MIB },
    only: 'szafa',
  },
  {
    name: '2,000 files of 64 KiB',
    files: 2000,
    bytes: 64 * 1024,
    warmUp: { files: 500, bytes: 64 * 1024 },
  },
];
const quickLoads: Load[] = [
  { name: 'one file of 20 MiB', files: 1, bytes: 20 * MIB, warmUp: { files: 1, bytes: MIB } },
  { name: '50 files of 64 KiB', files: 50, bytes: 64 * 1024, warmUp: { files: 2, bytes: 64 * 1024 } },
];

/** Uploads and downloads the same files with every client in turn. Each time includes syncing to disk. */
export async function measureClients(bench: Bench): Promise<ClientResult[]> {
  const folder = join(bench.folder, 'clients');
  await mkdir(folder, { recursive: true });
  const clients = await startClients(folder);
  try {
    const results: ClientResult[] = [];
    for (const load of bench.quick ? quickLoads : loads)
      results.push(await measureLoad(bench, folder, clients.filter(takesPart(load)), load));
    return results;
  } finally {
    for (const client of clients) await client.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

const takesPart =
  ({ only }: Load) =>
  ({ name }: Client) =>
    only === undefined || name === only;

async function measureLoad(
  bench: Bench,
  folder: string,
  clients: Client[],
  load: Load,
): Promise<ClientResult> {
  const result: ClientResult = { load: load.name, bytes: load.files * load.bytes, clients: {} };
  for (let round = 0; round <= bench.rounds; round++) {
    const isWarmUp = round === 0;
    const files = isWarmUp ? load.warmUp : load;
    // New content in every round, because some clients do not upload content twice.
    const source = join(folder, `source${round}-${load.files}-${load.bytes}`);
    await writeFiles(source, files);
    for (const [at] of clients.entries()) {
      const client = clients[(at + round) % clients.length]!;
      const done = await measureRound(folder, client, source, round, files);
      if (isWarmUp) continue;
      result.clients[client.name] = [...(result.clients[client.name] ?? []), done];
      bench.log(`clients, ${load.name}, round ${round}, ${client.name}: ${summary(done)}`);
    }
    await discard(source, files);
  }
  return result;
}

/**
 * Deletes a single file. Many small files stay until the end: for minutes after deleting them, ext4 creates new files more slowly, which
 * would affect the next measurement.
 */
async function discard(folder: string, { files }: Files): Promise<void> {
  if (files === 1) await rm(folder, { recursive: true });
}

function summary(round: ClientRound): string {
  if ('failure' in round) return round.failure;
  return `up ${round.up.mbps.toFixed(0)}, down ${round.down.mbps.toFixed(0)} MB/s`;
}

export async function writeFiles(folder: string, { files, bytes }: Files): Promise<void> {
  await mkdir(folder);
  const piece = Buffer.alloc(Math.min(bytes, 4 * MIB));
  for (let number = 0; number < files; number++) {
    const file = await open(join(folder, `f${number}`), 'w');
    for (let written = 0; written < bytes; written += piece.length) await file.write(randomFillSync(piece));
    await file.close();
  }
  await syncFilesystem(folder);
}

async function measureRound(
  folder: string,
  client: Client,
  source: string,
  round: number,
  load: Files,
): Promise<ClientRound> {
  const target = await mkdtemp(join(folder, 'target-'));
  const label = labelOf(round, source);
  const bytes = load.files * load.bytes;
  try {
    const up = await trip(client, client.up(source, label), bytes, folder);
    const down = await trip(client, client.down(label, target, source), bytes, folder);
    const content = await contentOf(target);
    if (content.files !== load.files || content.bytes !== bytes) {
      throw new Error(`${content.files} files with ${content.bytes} bytes came back`);
    }
    return { up, down };
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) };
  } finally {
    await discard(target, load);
    await syncFilesystem(folder);
  }
}

/** Runs a command and waits until its bytes are on disk. Counts the CPU time of all its processes. */
export async function trip(client: Client, command: string, bytes: number, folder: string): Promise<Trip> {
  const begun = performance.now();
  const child = spawn('bash', ['-c', `set -o pipefail; ${command}; code=$?; times >&2; exit $code`], {
    env: client.env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  let peakBytes = 0;
  const watch = setInterval(() => {
    peakBytes = Math.max(peakBytes, ...peaks(child.pid!).map((peak) => peak.peakBytes));
  }, PEAK_MS);
  try {
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`ended with ${code}: ${output.slice(0, 300)}`);
  } finally {
    clearInterval(watch);
  }
  await syncFilesystem(folder);
  const seconds = (performance.now() - begun) / 1000;
  return { mbps: bytes / 1e6 / seconds, cpuPerGb: cpuOf(output) / (bytes / 1e9), peakBytes };
}

/** Parses the last line printed by `times`: user and system time of all child processes. */
function cpuOf(output: string): number {
  const [, user = '', system = ''] = /(\S+) (\S+)\s*$/.exec(output) ?? [];
  const seconds = (text: string) => {
    const [, minutes = '0', rest = '0'] = /^(\d+)m([\d.]+)s$/.exec(text) ?? [];
    return Number(minutes) * 60 + Number(rest);
  };
  return seconds(user) + seconds(system);
}
