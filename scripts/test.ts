/**
 * `npm test` runs the checks and then the tests, a few processes at a time; API tests run on SQLite and a folder. `npm run test:long`
 * (`--long`) runs the API tests on the other pairs of stores, the long tests listed in scripts/suite.mjs, and tests that do more work
 * in a long run. `npm test -- TEXT…` runs only files whose paths contain one of the texts; `--pairs` runs them on all four pairs.
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
 * Start order: the longest tests first, so that no core is idle at the end. Tests of the first pattern mostly wait and those of the
 * second mostly compute, so they start alternately.
 */
const ORDER = [
  /^tests\/(attacks\/flood|nodes\/|faults\/kills|setup\/(platforms|npm-packages)|worker\/zip\.long)/,
  /^tests\/(web|cross)\//,
  /^tests\/blackbox\//,
  /^tests\/engines\//,
  /^tests\/faults\//,
  /^(tests\/attacks|client\/test)\/|\.(s3|postgres)\.test/,
];
/** Starts before all others, because it downloads for ten minutes. */
const FIRST = /^tests\/setup\/debian/;
const isLong = process.argv.includes('--long');
/** Files that share a server or a browser, or that are short, run together in this number of processes. */
const TOGETHER: [RegExp, number][] = [
  [ON_ALL_PAIRS, 2],
  [ON_TWO_PAIRS, 1],
  [/^tests\/web\//, isLong ? 6 : 2],
  [/^tests\/cross\//, isLong ? 3 : 2],
  [/^client\/test\/(?!file-locks|memory\.)/, 3],
  [/^server\/test\/pull\//, 1],
  // The excluded ones inspect their own process, or create a store before each test.
  [/^server\/test\/(?!(accel|custody|log|metadata|open-files|orphans|passwords|volumes)\b)/, 3],
  [/^tests\/setup\/(?!.*\.long\.)/, 1],
  [/^cli\/test\//, 1],
  [/^(protocol|format)\/test\//, 1],
  [/^tests\/worker\//, 1],
];
const DEFAULT_PAIR: Pair = { name: 'SQLite and a folder', environment: {} };
/** More processes than cores, because tests spend about half their time waiting. */
const AT_ONCE = Math.min(8, Math.max(4, 2 * availableParallelism() + 1));
/** Time limits of a single test and of a process with several files. */
const TEST_MS = isLong ? 900_000 : 300_000;
const PROCESS_MS = isLong ? 2_100_000 : 900_000;
/** Time to clean up between SIGTERM and SIGKILL. */
const LAST_MS = 10_000;

interface Job {
  args: string[];
  name: string;
  environment: Record<string, string>;
}

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort());

/** Runs a job to its end or time limit, and returns its output and whether it passed. */
async function run({ args, environment }: Job): Promise<{ passed: boolean; output: string }> {
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      // All processes load the same TypeScript, so share the compile cache.
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
  let isLate = false;
  const end = () => {
    isLate = true;
    child.kill('SIGTERM');
  };
  stop.signal.addEventListener('abort', end);
  const limits = [setTimeout(end, PROCESS_MS), setTimeout(() => child.kill('SIGKILL'), PROCESS_MS + LAST_MS)];
  const [code, signal] = await once(child, 'close');
  stop.signal.removeEventListener('abort', end);
  for (const limit of limits) clearTimeout(limit);
  // Node may exit with 0 when it is ended while a hook runs.
  const passed = code === 0 && !isLate;
  return { passed, output: signal || isLate ? `${output}\nended by ${signal ?? 'its time limit'}` : output };
}

function place(file: string): number {
  if (FIRST.test(file)) return -1;
  const found = ORDER.findIndex((pattern) => pattern.test(file));
  return found < 0 ? ORDER.length : found;
}

/** Groups the files by process. Most run alone. */
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

/** Formats a group of files as a shell pattern. */
function nameOf(group: string[]): string {
  if (group.length === 1) return group[0]!;
  return `${dirname(group[0]!)}/{${group.map((file) => basename(file, '.test.ts')).join(',')}}.test.ts`;
}

/** Returns the pairs of stores that a file runs on. */
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

/** Returns the remarks of tests, without the summary counts of the test runner. */
const remarks = (output: string) =>
  output.match(/^ *ℹ (?!(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) ).*\n/gm)?.join('') ?? '';

const SLOW_MS = 30_000;

/** Lists slow tests, so that a run shows where its time goes. */
function slowTests(output: string): string {
  const found = [...output.matchAll(/^ *✔ (.*) \(([0-9.]+)ms\)$/gm)].filter(
    ([, , ms]) => Number(ms) > SLOW_MS,
  );
  return found.map(([, name, ms]) => `  slow: ${name} (${(Number(ms) / 1000).toFixed(0)} s)\n`).join('');
}

/**
 * Runs all jobs and returns the names of those that failed. A failed job runs again, alone, after all others: if it then passes, it is
 * reported as depending on a fast machine, so that it can be fixed.
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
  /** The run includes many files, so that bundling the server saves time. */
  whole: boolean;
  files: string[];
  /** Returns the pairs of stores for the API tests. `others` are all pairs except the default. */
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
  // tests/harness/main.ts reads this variable.
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
