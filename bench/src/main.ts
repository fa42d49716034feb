/** `npm run bench`: measures the server and compares it with servers that do less. */
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bench } from './bench.ts';
import { findChromium } from './browser.ts';
import { measureAccel } from './cells/accel.ts';
import { measureAccounts } from './cells/accounts.ts';
import { measureAgain } from './cells/again.ts';
import { measureChunks } from './cells/chunks.ts';
import { measureClients } from './cells/clients.ts';
import { measureGrowth } from './cells/growth.ts';
import { measureLink } from './cells/link.ts';
import { measurePage } from './cells/page.ts';
import { measureScale } from './cells/scale.ts';
import { measureSmall } from './cells/small.ts';
import { measureTransfers } from './cells/transfers.ts';
import { measureVolumes, quickVolumeCells, volumeCells, warmUp } from './cells/volumes.ts';
import { missingClientPackages } from './clients/start.ts';
import { Daemon } from './daemon.ts';
import { judge } from './goals.ts';
import { LoadPool } from './load/pool.ts';
import { describeMachine } from './machine.ts';
import { type Options, readOptions, UsageError, usage } from './options.ts';
import { Fleet, missingPackages } from './peers/fleet.ts';
import { failures } from './ratios.ts';
import { report } from './report.ts';
import type { Results } from './results.ts';

/** Free space needed: the largest cell stores 4 GiB, and files deleted earlier may still take space. */
const NEEDED_GIB = 10;
/** Disk space per file record, with indexes and the write-ahead log of PostgreSQL. */
const RECORD_GIB = 2.5e-6;

interface Cell {
  name: string;
  /** Runs only if named with --only, because it takes very long. */
  onlyNamed?: boolean;
  run: (bench: Bench, results: Results) => Promise<void>;
}

function cellsOf({ quick, only, list }: Options): Cell[] {
  const cells: Cell[] = [
    ...(quick ? quickVolumeCells : volumeCells).map((cell) => ({
      name: cell.name,
      run: async (bench: Bench, results: Results) => {
        results.volumes.push(await measureVolumes(bench, cell));
      },
    })),
    { name: 'small', run: async (bench, results) => void results.small.push(...(await measureSmall(bench))) },
    {
      name: 'transfers',
      run: async (bench, results) => void results.transfers.push(...(await measureTransfers(bench))),
    },
    {
      name: 'chunks',
      run: async (bench, results) => void results.chunks.push(...(await measureChunks(bench))),
    },
    {
      name: 'growth',
      run: async (bench, results) => void results.growth.push(...(await measureGrowth(bench))),
    },
    { name: 'accel', run: async (bench, results) => void results.accel.push(await measureAccel(bench)) },
    { name: 'scale', run: async (bench, results) => void results.scale.push(...(await measureScale(bench))) },
    {
      name: 'clients',
      run: async (bench, results) => void results.clients.push(...(await measureClients(bench))),
    },
    { name: 'again', run: async (bench, results) => void results.again.push(await measureAgain(bench)) },
    { name: 'link', run: async (bench, results) => void results.link.push(await measureLink(bench)) },
    { name: 'page', run: async (bench, results) => void results.page.push(await measurePage(bench)) },
    {
      name: 'accounts',
      onlyNamed: !quick,
      run: async (bench, results) => void results.accounts.push(...(await measureAccounts(bench))),
    },
  ];
  const chosen = cells.filter(({ name, onlyNamed }) =>
    only.length === 0 ? list || !onlyNamed : only.some((prefix) => name.startsWith(prefix)),
  );
  if (chosen.length === 0) throw new UsageError(`no cell's name begins with ${only.join(' or ')}`);
  return chosen;
}

async function main(args: string[]): Promise<number> {
  const options = readOptions(args);
  const cells = cellsOf(options);
  if (options.list) {
    console.log(cells.map(({ name }) => name).join('\n'));
    return 0;
  }
  const missing = [
    ...missingPackages(
      cells.some(({ name }) => name === 'accel') ? [...options.peers, 'nginx'] : options.peers,
    ),
    ...(cells.some(({ name }) => name === 'clients') ? missingClientPackages() : []),
    ...(cells.some(({ name }) => name === 'page') && !findChromium() ? ['chromium'] : []),
  ];
  if (missing.length > 0) {
    throw new UsageError(
      `the programs to compare with are not installed; on Debian: apt-get install -y ${missing.join(' ')}\n` +
        'or choose others with --peers, for example --peers szafa,tus',
    );
  }
  const log = (line: string) => void process.stderr.write(`${line}\n`);
  const machine = await describeMachine(options.folder);
  if (machine.filesystem === 'tmpfs')
    log('this folder is in memory, so nothing is durable here: choose one with --dir');
  const fills = cells.some(({ name }) => name === 'accounts');
  const neededGiB = NEEDED_GIB + (fills ? Math.ceil(options.sizes.files * RECORD_GIB) : 0);
  if (!options.quick && machine.freeGiB < neededGiB) {
    throw new UsageError(
      `${options.folder} has ${machine.freeGiB} GiB free; ${neededGiB} are needed (see --dir)`,
    );
  }
  const folder = await mkdtemp(join(options.folder, 'szafa-bench-'));
  const pool = new LoadPool();
  const fleet = new Fleet(folder, options.peers, (peer) => warmUp(pool, peer));
  const { rounds, quick, sizes } = options;
  const results: Results = {
    machine,
    rounds,
    volumes: [],
    small: [],
    transfers: [],
    growth: [],
    chunks: [],
    clients: [],
    again: [],
    link: [],
    scale: [],
    accel: [],
    page: [],
    accounts: [],
    failed: [],
  };
  cleanUpWhenInterrupted(folder);
  try {
    const bench: Bench = { fleet, pool, folder, rounds, quick, sizes, log };
    for (const cell of cells) {
      try {
        await cell.run(bench, results);
      } catch (error) {
        // Keep the results of the other cells.
        const why = error instanceof Error ? error.message : String(error);
        log(`${cell.name} failed: ${why}`);
        results.failed.push({ cell: cell.name, why });
      }
    }
  } finally {
    pool.close();
    await fleet.stop();
    // A daemon that was not ready in time belongs to no cell, and would keep the bench from exiting.
    await Daemon.killAll();
    await rm(folder, { recursive: true, force: true });
  }
  // A quick run says nothing about speed.
  const goals = quick ? [] : judge(results);
  console.log(options.json ? JSON.stringify({ ...results, goals }, null, 2) : report(results, goals));
  const failed =
    results.failed.length > 0 || results.volumes.some((result) => failures(result, 'szafa').length > 0);
  return failed || goals.some(({ verdict }) => verdict === 'FAIL') ? 1 : 0;
}

/** Cleans up once: a signal may arrive twice, from the terminal and forwarded by npm. */
function cleanUpWhenInterrupted(folder: string): void {
  let begun = false;
  const cleanUp = async () => {
    if (begun) return;
    begun = true;
    await Daemon.killAll();
    await rm(folder, { recursive: true, force: true });
    process.exit(1);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, cleanUp);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n\n${usage}\n`);
  process.exitCode = 2;
}
