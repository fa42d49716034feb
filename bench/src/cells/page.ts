import { execFile } from 'node:child_process';
import { link, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { BarePage } from '../bare/page.ts';
import type { Bench } from '../bench.ts';
import { Szafa } from '../peers/szafa.ts';
import type { BareWay, PageResult, PageRound, PageTrip } from '../results.ts';
import { median } from '../stats.ts';
import { cpuSeconds } from '../usage.ts';
import { Visitor } from '../visitor.ts';
import { writeFiles } from './clients.ts';

const MIB = 2 ** 20;
const USER = 'benchpage';
const PASSWORD = 'a password for the bench';
const command = fileURLToPath(new URL('../../../cli/bin/szafa.mjs', import.meta.url));

/** Compares the web app with the command and the bare page, for the same file and server; then measures an upload while a user types. */
export async function measurePage(bench: Bench): Promise<PageResult> {
  const folder = join(bench.folder, 'page');
  const bytes = (bench.quick ? 24 : 1024) * MIB;
  await mkdir(folder, { recursive: true });
  try {
    const [whole, half] = [join(folder, 'whole'), join(folder, 'half')];
    await writeFiles(whole, { files: 1, bytes });
    await writeFiles(half, { files: 1, bytes: bytes / 2 });
    const result: PageResult = { bytes, rounds: [] };
    for (let round = 0; round < bench.rounds; round++) {
      const own = join(folder, `round${round}`);
      const done = await measureRound(own, join(whole, 'f0'), join(half, 'f0'), bytes);
      result.rounds.push(done);
      bench.log(`page, round ${round + 1}: ${summary(done)}`);
      await rm(own, { recursive: true, force: true });
    }
    return result;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function summary(round: PageRound): string {
  if ('failure' in round) return round.failure;
  const { commandMbps, page, bare, keyMs } = round;
  const rates = [page.mbps, bare.fetch.mbps, bare.socket.mbps, commandMbps].map((mbps) => mbps.toFixed(0));
  return `page ${rates[0]}, bare page ${rates[1]} and ${rates[2]}, command ${rates[3]} MB/s, slowest key ${keyMs.worst.toFixed(0)} ms`;
}

async function measureRound(folder: string, whole: string, half: string, bytes: number): Promise<PageRound> {
  const service = await Szafa.start(join(folder, 'server'), 'bench', { SZ_QUOTA: String(64 * bytes) });
  let visitor: Visitor | undefined;
  try {
    const url = `http://127.0.0.1:${service.port}`;
    const env = {
      ...process.env,
      SZ_SERVER: url,
      SZ_USER: USER,
      SZ_PASSWORD: PASSWORD,
      SZ_CONFIG: join(folder, 'config'),
    };
    const run = (...args: string[]) => promisify(execFile)(process.execPath, [command, ...args], { env });
    await run('register', '--quiet');
    visitor = await Visitor.enter(url, USER, PASSWORD);
    /** Gives the file a new name: the command would skip an uploaded file, and the web app would ask. */
    const named = async (file: string, name: string) => {
      const path = join(folder, name);
      await link(file, path);
      return path;
    };
    // Warm up both sides: JIT compilation and open connections.
    await run('put', '--quiet', await named(half, 'first-by-command'));
    await visitor.upload(await named(half, 'first-by-page'));

    const byCommand = await named(whole, 'by-command');
    const began = performance.now();
    await run('put', '--quiet', byCommand);
    const commandSeconds = (performance.now() - began) / 1000;
    const byPage = await named(whole, 'by-page');
    const page = await measureTrip(visitor, service, bytes, () => visitor!.upload(byPage));
    const bare = await measureBare(url, service, half, whole, bytes);
    const feltHalf = await visitor.uploadTyping(await named(half, 'half-while-typing'));
    const felt = await visitor.uploadTyping(await named(whole, 'while-typing'));
    const keys = [...feltHalf.keyMs, ...felt.keyMs];
    return {
      commandMbps: bytes / 1e6 / commandSeconds,
      page,
      bare,
      keyMs: { median: median(keys), worst: Math.max(...keys) },
      tabBytes: { half: Math.max(...feltHalf.tabBytes), whole: Math.max(...felt.tabBytes) },
    };
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) };
  } finally {
    await visitor?.stop();
    await service.daemon.stop();
  }
}

async function measureBare(
  url: string,
  service: Szafa,
  half: string,
  whole: string,
  bytes: number,
): Promise<Record<BareWay, PageTrip>> {
  const page = await BarePage.open(url, service.token);
  const by = async (way: BareWay) => {
    await page.upload(half, way);
    return measureTrip(page, service, bytes, () => page.upload(whole, way));
  };
  try {
    return { fetch: await by('fetch'), socket: await by('socket') };
  } finally {
    await page.stop();
  }
}

async function measureTrip(
  browser: { pid: number },
  { daemon }: Szafa,
  bytes: number,
  upload: () => Promise<number>,
): Promise<PageTrip> {
  const [browserBefore, serverBefore] = [cpuSeconds(browser.pid), cpuSeconds(daemon.pid)];
  const seconds = await upload();
  const gb = bytes / 1e9;
  return {
    mbps: (1000 * gb) / seconds,
    browserCpuPerGb: (cpuSeconds(browser.pid) - browserBefore) / gb,
    serverCpuPerGb: (cpuSeconds(daemon.pid) - serverBefore) / gb,
  };
}
