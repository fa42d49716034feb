/**
 * `npm test`: the checks, then all that protects a change on one machine, a few processes at a time; the tests of the
 * interface run on SQLite and a folder. `npm run test:long` (`--long`): the other pairs of stores, what scripts/suite.mjs
 * names, and what does more of the same there. `npm test -- TEXT…` runs the files whose paths contain one of the texts,
 * and nothing else; `--pairs` runs them on all four pairs.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Pair } from '../tests/engines/pairs.ts';
import {
  growsWhenLong,
  isForLong,
  ON_ALL_PAIRS,
  ON_TWO_PAIRS,
  testFiles,
  WITHOUT_VOLUMES,
} from './suite.mjs';

/**
 * Those that take the longest begin first, and those that take a moment come last, so that no core is idle at the end. The first kind
 * mostly waits, and the second computes: they begin in turns.
 */
const ORDER = [
  /^tests\/(attacks\/flood|nodes\/|faults\/kills|setup\/(platforms|npm-packages)|worker\/zip\.long)/,
  /^tests\/(web|cross)\//,
  /^tests\/blackbox\//,
  /^tests\/engines\//,
  /^tests\/faults\//,
  /^(tests\/attacks|client\/test)\/|\.(s3|postgres)\.test/,
];
/** Ten minutes of downloads: first of all. */
const FIRST = /^tests\/setup\/debian/;
const isLong = process.argv.includes('--long');
/** Files that share a service, and a browser, or take a moment, share a process: in this many processes they run. */
const TOGETHER: [RegExp, number][] = [
  [ON_ALL_PAIRS, 2],
  [ON_TWO_PAIRS, 1],
  [/^tests\/web\//, isLong ? 6 : 2],
  [/^tests\/cross\//, isLong ? 3 : 2],
  [/^client\/test\/(?!file-locks|memory\.)/, 3],
  [/^server\/test\/pull\//, 1],
  // The others look at their process, or make a store before each test.
  [/^server\/test\/(?!(accel|custody|log|metadata|open-files|orphans|passwords|volumes)\b)/, 3],
  [/^tests\/setup\/(?!.*\.long\.)/, 1],
  [/^cli\/test\//, 1],
  [/^(protocol|format)\/test\//, 1],
  [/^tests\/worker\//, 1],
];
const DEFAULT_PAIR: Pair = { name: 'SQLite and a folder', environment: {} };
/** Tests wait as often as they compute. */
const AT_ONCE = Math.min(8, Math.max(4, 2 * availableParallelism() + 1));
/** For a single test, and for a process of them. */
const TEST_MS = isLong ? 900_000 : 300_000;
const PROCESS_MS = isLong ? 2_100_000 : 900_000;
/** The process has this long to clean up after itself. */
const LAST_MS = 10_000;

interface Job {
  args: string[];
  name: string;
  environment: Record<string, string>;
}

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort());

/** Runs to its end, or to the time limit; what it wrote, and whether all is well. */
async function run({ args, environment }: Job): Promise<{ passed: boolean; output: string }> {
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      // Each process reads the same TypeScript as the others.
      NODE_COMPILE_CACHE: fileURLToPath(new URL('../node_modules/.cache/compile', import.meta.url)),
      ...process.env,
      ...environment,
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const end = () => child.kill('SIGTERM');
  stop.signal.addEventListener('abort', end);
  const limits = [setTimeout(end, PROCESS_MS), setTimeout(() => child.kill('SIGKILL'), PROCESS_MS + LAST_MS)];
  const [code, signal] = await once(child, 'close');
  stop.signal.removeEventListener('abort', end);
  for (const limit of limits) clearTimeout(limit);
  return { passed: code === 0, output: signal ? `${output}\nended by ${signal}` : output };
}

function place(file: string): number {
  if (FIRST.test(file)) return -1;
  const found = ORDER.findIndex((pattern) => pattern.test(file));
  return found < 0 ? ORDER.length : found;
}

/** Which files run in one process: most of them alone. */
function groups(files: string[]): string[][] {
  const sorted = files.toSorted((a, b) => place(a) - place(b) || a.localeCompare(b));
  const found = new Map<string, string[]>();
  sorted.forEach((file, at) => {
    const together = TOGETHER.findIndex(([pattern]) => pattern.test(file));
    const name = together < 0 ? file : `${together} ${at % TOGETHER[together]![1]}`;
    found.set(name, [...(found.get(name) ?? []), file]);
  });
  const all = [...found.values()];
  const [waiting, computing] = [0, 1].map((kind) => all.filter(([file]) => place(file!) === kind));
  const others = all.filter(([file]) => place(file!) > 1);
  const inTurns = all.flatMap((_, at) => [...waiting!.slice(at, at + 1), ...computing!.slice(at, at + 1)]);
  return [...all.filter(([file]) => place(file!) < 0), ...inTurns, ...others];
}

/** As a shell would take it. */
function nameOf(group: string[]): string {
  if (group.length === 1) return group[0]!;
  return `${dirname(group[0]!)}/{${group.map((file) => basename(file, '.test.ts')).join(',')}}.test.ts`;
}

/** Which of the pairs of this run a file runs on. */
function pairsOf(file: string, pairs: Pair[]): Pair[] {
  if (ON_ALL_PAIRS.test(file)) return pairs;
  const others = pairs.filter((pair) => pair !== DEFAULT_PAIR && !pair.mixed);
  return [DEFAULT_PAIR, ...(ON_TWO_PAIRS.test(file) ? others : [])];
}

function jobs(files: string[], pairs: Pair[]): Job[] {
  return groups(files).flatMap((group) => {
    return pairsOf(group[0]!, pairs).flatMap((pair) => {
      const chosen = isLong && pair.mixed ? group.filter((file) => !WITHOUT_VOLUMES.test(file)) : group;
      if (chosen.length === 0) return [];
      return {
        args: [
          ...['--test', '--test-isolation=none', '--test-timeout', String(TEST_MS)],
          ...['--test-reporter', 'spec', ...chosen],
        ],
        name: `${nameOf(chosen)}${pair === DEFAULT_PAIR ? '' : `: ${pair.name}`}`,
        environment: { ...pair.environment, ...(isLong && { SZ_TEST_LONG: '1' }) },
      };
    });
  });
}

/** What a test had to say beside its result; the last lines are the runner's own counts. */
const remarks = (output: string) =>
  output.match(/^ *ℹ (?!(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) ).*\n/gm)?.join('') ?? '';

const SLOW_MS = 30_000;

/** Tests that take this long, so that a run shows where its time goes. */
function slowTests(output: string): string {
  const found = [...output.matchAll(/^ *✔ (.*) \(([0-9.]+)ms\)$/gm)].filter(
    ([, , ms]) => Number(ms) > SLOW_MS,
  );
  return found.map(([, name, ms]) => `  slow: ${name} (${(Number(ms) / 1000).toFixed(0)} s)\n`).join('');
}

/**
 * The names of those that failed. One that did is run once more, alone, when all others have ended: what is red then is
 * broken, and what is green then hopes for a fast machine and is named as that, to be mended.
 */
async function runAll(all: Job[]): Promise<string[]> {
  const failed: Job[] = [];
  const waiting = all.values();
  let done = 0;
  const report = async (job: Job, count: string): Promise<boolean> => {
    const since = Date.now();
    const { passed, output } = await run(job);
    const took = `${((Date.now() - since) / 1000).toFixed(1)} s`;
    console.log(`${passed ? '✔' : '✖'} ${count} ${job.name} (${took})`);
    process.stdout.write(passed ? remarks(output) + slowTests(output) : output);
    return passed;
  };
  const lane = async () => {
    for (const job of waiting) {
      if (stop.signal.aborted) return;
      if (!(await report(job, `${++done}/${all.length}`))) failed.push(job);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  const broken: string[] = [];
  for (const job of failed) {
    if (!stop.signal.aborted && (await report(job, 'alone')))
      console.error(`! green only alone: ${job.name}`);
    else broken.push(job.name);
  }
  return broken;
}

interface Plan {
  checks: boolean;
  /** All of them, with so many starts that packing the server is worth it. */
  whole: boolean;
  files: string[];
  /** On which pairs the tests of the interface run; those beside the default one are given. */
  pairs: (others: Pair[]) => Pair[];
  needsPairs: boolean;
}

function plan(args: string[]): Plan {
  const texts = args.filter((arg) => !arg.startsWith('--'));
  const root = fileURLToPath(new URL('..', import.meta.url));
  const files = testFiles(root, texts);
  const onPairs = files.some((file) => ON_ALL_PAIRS.test(file) || ON_TWO_PAIRS.test(file));
  if (texts.length > 0) {
    const wanted = args.includes('--pairs');
    return {
      checks: false,
      whole: false,
      files,
      pairs: (others) => [DEFAULT_PAIR, ...(wanted ? others : [])],
      needsPairs: wanted && onPairs,
    };
  }
  if (isLong) {
    const isWanted = (file: string) =>
      isForLong(file) || ON_ALL_PAIRS.test(file) || growsWhenLong(root, file);
    return {
      checks: false,
      whole: true,
      files: files.filter(isWanted),
      pairs: (others) => others,
      needsPairs: true,
    };
  }
  return {
    checks: true,
    whole: true,
    files: files.filter((file) => !isForLong(file)),
    pairs: () => [DEFAULT_PAIR],
    needsPairs: false,
  };
}

const { checks, whole, files, pairs, needsPairs } = plan(process.argv.slice(2));
if (whole) {
  const { packServer } = await import('./pack-server.ts');
  // For tests/harness/main.ts.
  process.env['SZ_TEST_SERVER'] = await packServer();
}
const [checked, engines] = await Promise.all([
  checks ? run({ args: ['scripts/check.ts'], name: 'checks', environment: {} }) : undefined,
  needsPairs ? import('../tests/engines/pairs.ts').then(({ Pairs }) => Pairs.start()) : undefined,
]);
try {
  process.stdout.write(checked?.output ?? '');
  const failed =
    checked?.passed === false ? ['checks'] : await runAll(jobs(files, pairs(engines?.list ?? [])));
  for (const name of failed) console.error(`✖ ${name}`);
  if (files.length === 0) console.error('no test file has that in its path');
  process.exitCode = failed.length === 0 && files.length > 0 && !stop.signal.aborted ? 0 : 1;
} finally {
  await engines?.stop();
}
