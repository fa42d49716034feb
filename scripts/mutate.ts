/**
 * `npm run mutate [-- TEXT…]`: puts each bug from `tests/mutants/` into a copy of this checkout, one at a time, and runs the tests that
 * should catch it. At least 95 % must be caught. TEXT selects bugs by name or file, `--at-once=N` sets how many run in parallel. Each
 * verdict is added to `artefacts/mutants.jsonl`; `--continue` skips bugs that were caught there and have not changed since.
 *
 * Stryker does not fit: it puts all bugs into one build and switches them inside the process of its runner, but our tests start
 * servers, workers and commands as separate processes, in which no bug would be active.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Pairs } from '../tests/engines/pairs.ts';
import { Findings, type Verdict } from './mutant-findings.ts';
import { allMutants, type Mutant, mutantFaults, mutated } from './mutants.ts';
import { buildPage } from './page.mjs';
import { needsOf } from './suite.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const ENOUGH_PERCENT = 95;
/** Folders to leave out of the copy: git's own data, and files left by a server or a test run. */
const NOT_COPIED = new Set(['.git', 'data', 'artefacts', 'coverage']);
/** Time limit of a test process, based on how long the same tests take without a bug. */
const limitMs = (greenMs: number) => 60_000 + 4 * greenMs;
const GREEN_LIMIT_MS = 540_000;
/** Time between SIGTERM and SIGKILL. */
const LAST_MS = 5000;

type Result = { how: 'green' | 'red' | 'late'; output: string; ms: number };
type Run = { test: string; only: string; environment: Record<string, string> };

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort());

/** A copy of the checkout. Sources are copied, packages are linked, and tests write to a folder of the copy. */
class Copy {
  readonly root: string;
  readonly #temporary: string;

  constructor(folder: string) {
    // A short name, because the length of socket paths is limited.
    this.#temporary = join(folder, 't');
    this.root = join(folder, 'szafa');
    mkdirSync(this.#temporary, { recursive: true });
    const packages: string[] = [];
    cpSync(root, this.root, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => {
        if (basename(path) === 'node_modules') packages.push(relative(root, path));
        return !NOT_COPIED.has(relative(root, path)) && basename(path) !== 'node_modules';
      },
    });
    for (const path of packages) linkPackages(join(root, path), join(this.root, path));
  }

  read(file: string): string {
    return readFileSync(join(this.root, file), 'utf8');
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.root, file), text);
  }

  /** Runs one test file and stops it at the first failure. */
  async run({ test, only, environment }: Run, most: number): Promise<Result> {
    stop.signal.throwIfAborted();
    const since = Date.now();
    if (needsOf([test]).page) {
      const fault = buildPage(this.root, process.execPath, () => {});
      if (fault !== undefined) throw new Error(`the page cannot be built: ${fault}`);
    }
    const child = spawn(
      process.execPath,
      [
        ...['--test', '--test-isolation=none', '--test-force-exit', '--test-reporter', 'tap'],
        ...(only === '' ? [] : ['--test-name-pattern', only]),
        test,
      ],
      {
        cwd: this.root,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: {
          ...process.env,
          NODE_COMPILE_CACHE: join(this.root, 'node_modules/.cache/compile'),
          TMPDIR: this.#temporary,
          ...environment,
        },
      },
    );
    let output = '';
    let late = false;
    const timers: NodeJS.Timeout[] = [];
    const end = () => {
      child.kill('SIGTERM');
      timers.push(setTimeout(() => child.kill('SIGKILL'), LAST_MS));
    };
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        const had = FAILED.test(output);
        output += text;
        if (!had && FAILED.test(output)) timers.push(setTimeout(end, 200));
      });
    }
    timers.push(
      setTimeout(() => {
        late = true;
        end();
      }, most),
    );
    stop.signal.addEventListener('abort', end, { once: true });
    let code: number | null;
    try {
      const closed = once(child, 'close');
      await Promise.race([once(child, 'exit'), closed]);
      // Processes that the test started may still be running and keep its pipes open.
      this.#endAll();
      timers.push(setTimeout(() => [child.stdout, child.stderr].map((pipe) => pipe.destroy()), LAST_MS));
      [code] = await closed;
    } finally {
      stop.signal.removeEventListener('abort', end);
      for (const timer of timers) clearTimeout(timer);
      this.#tidy();
    }
    const failed = FAILED.test(output);
    const ms = Date.now() - since;
    if (!failed && code === 0) return { how: 'green', output, ms };
    const byLimit = failed ? TIMED_OUT.test(output) : late;
    return { how: byLimit ? 'late' : 'red', output, ms };
  }

  /** Kills servers, database engines and commands that a test left behind. */
  #endAll(): void {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      try {
        if (this.#isOfTest(pid)) process.kill(Number(pid), 'SIGKILL');
      } catch {
        // The process has ended, or belongs to another user.
      }
    }
  }

  /** Recognizes a process by its environment, which names the folder. nginx overwrites its environment, but has log files open there. */
  #isOfTest(pid: string): boolean {
    if (readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`=${this.#temporary}`)) return true;
    const open = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
    return open.some((path) => path.startsWith(`${this.#temporary}/`));
  }

  /** Unmounts and deletes what a test left behind: mounts survive the process that made them. */
  #tidy(): void {
    const mounts = readFileSync('/proc/self/mounts', 'utf8').match(/(?<=^\S+ )\S+/gm) ?? [];
    for (const path of mounts.reverse()) {
      if (path.startsWith(`${this.#temporary}/`)) spawnSync('umount', ['-l', path]);
    }
    rmSync(this.#temporary, { recursive: true, force: true, maxRetries: 5 });
    mkdirSync(this.#temporary);
  }
}

/** A line of the report that says that a test or a suite failed. */
const FAILED = /^ *not ok \d+ (?!.* # (?:TODO|SKIP))/m;
/** A line of the report that says that a test exceeded its own time limit. */
const TIMED_OUT = /^ *failureType: 'testTimeoutFailure'/m;

/** Returns the name of the first failed test, so that the reader can judge whether it is the right one. */
const firstFailed = (output: string) =>
  output
    .split('\n')
    .find((line) => FAILED.test(line))
    ?.replace(/^ *not ok \d+ - /, '') ?? 'the process did not end well';

/** Links the packages. Workspace packages are relative links, which point into the copy when recreated there. */
function linkPackages(from: string, to: string): void {
  mkdirSync(to);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.name === '.cache') continue;
    if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else if (entry.name === '.bin' || entry.name.startsWith('@')) linkPackages(source, target);
    else symlinkSync(source, target);
  }
}

/** Checks that tests pass without a bug, since they prove nothing otherwise. Each file runs once per pair of stores, for all copies. */
class Greens {
  readonly #tried = new Map<string, Promise<Result>>();

  /** Runs a second time after a failure, because the machine may have been busy. */
  async #try(run: () => Promise<Result>): Promise<Result> {
    const first = await run();
    return first.how === 'green' ? first : run();
  }

  async of(copy: Copy, run: Run): Promise<number> {
    const key = JSON.stringify(run);
    const known = this.#tried.get(key) ?? this.#try(() => copy.run(run, GREEN_LIMIT_MS));
    this.#tried.set(key, known);
    const { how, output, ms } = await known;
    const failed = output.split('\n').filter((line) => FAILED.test(line));
    if (how !== 'green')
      throw new Error(`${run.test} is not green without the bug: ${failed.join(', ').trim()}`);
    return ms;
  }
}

async function attempt(
  mutant: Mutant,
  copy: Copy,
  greens: Greens,
  pairs: Pairs | undefined,
): Promise<Verdict> {
  const { file, tests, only = '', pair = '' } = mutant;
  const environment = pairs?.list.find(({ name }) => name === pair)?.environment ?? {};
  const text = copy.read(file);
  const wrong = mutated(mutant, text);
  // Throws on a syntax error: every test would catch that, so it proves nothing.
  if (file.endsWith('.ts')) stripTypeScriptTypes(wrong);
  for (const test of tests) {
    const run = { test, only, environment };
    const most = limitMs(await greens.of(copy, run));
    copy.write(file, wrong);
    const { how, output } = await copy.run(run, most).finally(() => copy.write(file, text));
    if (how === 'red') return { how: 'caught', by: `${test}: ${firstFailed(output)}` };
    if (how === 'late') return { how, by: `${test}, by its time limit: ${firstFailed(output)}` };
  }
  return { how: 'missed', by: tests.join(', ') };
}

async function runAll(chosen: Mutant[], folder: string, atOnce: number, pairs: Pairs | undefined) {
  const waiting = chosen.values();
  const greens = new Greens();
  const told = { caught: [] as string[], late: [] as string[], missed: [] as string[] };
  let done = 0;
  const lane = async (at: number) => {
    const copy = new Copy(join(folder, String(at)));
    for (const mutant of waiting) {
      const since = Date.now();
      let verdict: Verdict;
      try {
        verdict = await attempt(mutant, copy, greens, pairs);
      } catch (error) {
        verdict = { how: 'missed', by: (error as Error).message };
      }
      if (stop.signal.aborted) return;
      const line = `${mutant.file}: ${mutant.name}`;
      const took = ((Date.now() - since) / 1000).toFixed(1);
      findings.add(mutant, verdict, Number(took));
      console.log(
        `${verdict.how === 'missed' ? '✖' : '✔'} ${++done}/${chosen.length} ${line} (${took} s; ${verdict.by})`,
      );
      told[verdict.how].push(line);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, (_, at) => lane(at)));
  return told;
}

const args = process.argv.slice(2);
const texts = args.filter((arg) => !arg.startsWith('--'));
const unknown = args.filter((arg) => arg.startsWith('--') && !/^--(continue|at-once=\d+)$/.test(arg));
const atOnce = Number(args.find((arg) => arg.startsWith('--at-once='))?.slice('--at-once='.length) ?? 2);
const chosen = (await allMutants()).filter(
  ({ name, file }) => texts.length === 0 || texts.some((text) => name.includes(text) || file.includes(text)),
);
const faults = mutantFaults(chosen);
for (const fault of faults) console.error(fault);
if (chosen.length === 0) console.error('no bug of the lists has that in its name or file');
for (const arg of unknown) console.error(`${arg}: only --continue and --at-once=N are known`);
if (unknown.length > 0 || chosen.length === 0 || faults.length > 0 || !(atOnce >= 1)) process.exit(2);
const findings = new Findings(chosen);
const before = args.includes('--continue') ? findings.caught() : [];
const left = chosen.filter((mutant) => !before.includes(mutant));
// Resolve links: a folder inside the checkout cannot hold a copy of it, and a link would hide that.
const folder = mkdtempSync(join(realpathSync(tmpdir()), 'sz-mut-'));
// Database engines run as other users and need access to their folders below.
chmodSync(folder, 0o711);
const pairs = left.some(({ pair }) => pair !== undefined) ? await Pairs.start() : undefined;
try {
  const { caught, late, missed } = await runAll(left, folder, atOnce, pairs);
  for (const line of missed) console.error(`✖ not caught: ${line}`);
  for (const line of late) console.log(`  caught by a time limit alone: ${line}`);
  const right = before.length + caught.length + late.length;
  const untried = chosen.length - right - missed.length;
  const percent = (100 * right) / chosen.length;
  const rest = untried > 0 ? `; ${untried} not tried` : '';
  const earlier = before.length > 0 ? ` (${before.length} of them earlier)` : '';
  console.log(`${right} of ${chosen.length} caught${earlier}, ${percent.toFixed(1)} %${rest}`);
  process.exitCode = percent >= ENOUGH_PERCENT && !stop.signal.aborted ? 0 : 1;
} finally {
  await pairs?.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
