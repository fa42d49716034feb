/**
 * `npm run mutate [-- TEXT…]`: puts each bug of the lists in `tests/mutants/` into a copy of this checkout, one at a time, and
 * runs the tests that should tell; at least 95 of 100 must. TEXT chooses those whose name or file contains it, `--at-once=N` how
 * many run beside each other. Each verdict is added to `artefacts/mutants.jsonl`; `--continue` does not try again what was caught
 * there and has not changed since.
 *
 * Not Stryker: it puts all bugs into one build and switches them within the process of its own runner, while our tests start
 * services, workers and commands as processes of their own, which would run without any.
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
/** Not part of the copy: what git keeps, what a service or a run left behind. */
const NOT_COPIED = new Set(['.git', 'data', 'artefacts', 'coverage']);
/** A test process without an end: what the same tests took without a bug, several times, and a start of the service. */
const limitMs = (greenMs: number) => 60_000 + 4 * greenMs;
const GREEN_LIMIT_MS = 540_000;
/** Between the request to end and the end. */
const LAST_MS = 5000;

type Result = { how: 'green' | 'red' | 'late'; output: string; ms: number };
type Run = { test: string; only: string; environment: Record<string, string> };

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort());

/** A copy of the checkout: sources for real, packages by links to ours, a folder for what the tests write. */
class Copy {
  readonly root: string;
  readonly #temporary: string;

  constructor(folder: string) {
    // Short: the paths of some sockets lie below.
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

  /** One test file; ended at its first failure, for nothing more is to be learnt. */
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
      // What it had started may hold the same pipes, and go on.
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

  /** Services, engines and commands of a test that was ended. */
  #endAll(): void {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      try {
        if (this.#isOfTest(pid)) process.kill(Number(pid), 'SIGKILL');
      } catch {
        // Gone meanwhile, or of somebody else.
      }
    }
  }

  /** Its environment names the folder; nginx writes over that, and has its logs open there. */
  #isOfTest(pid: string): boolean {
    if (readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`=${this.#temporary}`)) return true;
    const open = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
    return open.some((path) => path.startsWith(`${this.#temporary}/`));
  }

  /** What was mounted stays mounted when those who did it have ended. */
  #tidy(): void {
    const mounts = readFileSync('/proc/self/mounts', 'utf8').match(/(?<=^\S+ )\S+/gm) ?? [];
    for (const path of mounts.reverse()) {
      if (path.startsWith(`${this.#temporary}/`)) spawnSync('umount', ['-l', path]);
    }
    rmSync(this.#temporary, { recursive: true, force: true, maxRetries: 5 });
    mkdirSync(this.#temporary);
  }
}

/** A line of the report by which a test, or a group of them, is not well. */
const FAILED = /^ *not ok \d+ (?!.* # (?:TODO|SKIP))/m;
/** By the limit that the test has of its own. */
const TIMED_OUT = /^ *failureType: 'testTimeoutFailure'/m;

/** Its name: whether that is the test which ought to tell is for the reader to see. */
const firstFailed = (output: string) =>
  output
    .split('\n')
    .find((line) => FAILED.test(line))
    ?.replace(/^ *not ok \d+ - /, '') ?? 'the process did not end well';

/** Ours among the packages are relative links, which lead to the copy when they are made again. */
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

/** The tests are green without the bug, or prove nothing; each file is tried once on each pair, whichever copy does it. */
class Greens {
  readonly #tried = new Map<string, Promise<Result>>();

  /** Once more where the machine was busy. */
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
  // What does not even parse is caught by anything, and proves nothing.
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
// Its real place: what lies within the checkout cannot hold a copy of it, and a link would hide that.
const folder = mkdtempSync(join(realpathSync(tmpdir()), 'sz-mut-'));
// Engines run as other users, and have their folders below.
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
