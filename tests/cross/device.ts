import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { packedCommand } from './packed.ts';

export const LAUNCHER = fileURLToPath(new URL('../../cli/bin/szafa.mjs', import.meta.url));
const LIMIT_MS = 180_000;

export interface RunOptions {
  env?: Record<string, string>;
  cwd?: string;
  input?: string | Uint8Array;
  /** Comes through a pipe, as it is read. */
  stdin?: Readable;
  /** In place of the packed command on the Node of this test. */
  command?: string[];
  uid?: number;
  /** Ended after this time. */
  limitMs?: number;
}

export interface JsonLine extends Record<string, unknown> {
  type: string;
}

export interface Outcome {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  bytes: Buffer;
  stderr: string;
  /** Standard output as JSON lines. */
  lines: JsonLine[];
  /** The one line of this type. */
  line(type: string): JsonLine;
}

function outcomeOf(
  code: number | null,
  signal: NodeJS.Signals | null,
  out: Buffer[],
  err: Buffer[],
): Outcome {
  const bytes = Buffer.concat(out);
  let text: string | undefined;
  // When it is asked for: a film is no text, and to read it as one takes more than the command did.
  const stdout = () => {
    text ??= bytes.toString('utf8');
    return text;
  };
  const lines = () =>
    stdout()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as JsonLine);
  return {
    code,
    signal,
    bytes,
    get stdout() {
      return stdout();
    },
    stderr: Buffer.concat(err).toString('utf8'),
    get lines() {
      return lines();
    },
    line(type) {
      const found = lines().filter((line) => line.type === type);
      assert.equal(found.length, 1, `one line of type ${type}:\n${stdout()}`);
      return found[0]!;
    },
  };
}

/** A running command: may be watched and ended in the middle. */
export class Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Outcome>;
  readonly #out: Buffer[] = [];
  readonly #err: Buffer[] = [];

  constructor(child: ChildProcess, limitMs = LIMIT_MS) {
    this.child = child;
    child.stdout?.on('data', (part: Buffer) => this.#out.push(part));
    child.stderr?.on('data', (part: Buffer) => this.#err.push(part));
    const late = setTimeout(() => child.kill('SIGKILL'), limitMs);
    this.ended = new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => {
        clearTimeout(late);
        resolve(outcomeOf(code, signal, this.#out, this.#err));
      });
    });
  }

  get soFar(): string {
    return Buffer.concat([...this.#out, ...this.#err]).toString('utf8');
  }

  /** Waits until the output so far satisfies the condition. */
  async until(what: string, condition: (text: string) => boolean): Promise<void> {
    let over = false;
    this.ended.then(() => {
      over = true;
    }, assert.fail);
    for (let waited = 0; !condition(this.soFar); waited += 20) {
      assert.ok(!over, `ended before ${what}:\n${this.soFar}`);
      assert.ok(waited < LIMIT_MS, `no ${what}:\n${this.soFar}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Waits until a --json command has so many bytes behind it. */
  moved(bytes: number): Promise<void> {
    return this.until(`${bytes} bytes`, (text) =>
      [...text.matchAll(/"bytes_done":(\d+)/g)].some((match) => Number(match[1]) >= bytes),
    );
  }
}

/** A machine with szafa on it: its own configuration folder, and nothing of this process's environment. */
export class Device {
  readonly home: string;
  readonly env: Record<string, string>;
  readonly #command: string;

  private constructor(home: string, env: Record<string, string>, command: string) {
    this.home = home;
    this.env = env;
    this.#command = command;
  }

  static async make(
    server: string,
    env: Record<string, string> = {},
    command = packedCommand(),
  ): Promise<Device> {
    const home = await mkdtemp(join(tmpdir(), 'szafa-device-'));
    const known = {
      PATH: process.env['PATH'] ?? '',
      HOME: home,
      LANG: 'C.UTF-8',
      SZ_SERVER: server,
      SZ_CONFIG: join(home, 'config'),
      // Hundreds of starts read the same program.
      NODE_COMPILE_CACHE: join(dirname(command), 'compiled'),
      ...env,
    };
    return new Device(home, known, command);
  }

  path(name: string): string {
    return join(this.home, name);
  }

  start(args: string[], options: RunOptions = {}): Running {
    const [program, ...before] = options.command ?? [process.execPath, this.#command];
    const child = spawn(program!, [...before, ...args], {
      cwd: options.cwd ?? this.home,
      env: { ...this.env, ...options.env },
      stdio: [options.input === undefined && !options.stdin ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      ...(options.uid !== undefined && { uid: options.uid, gid: options.uid }),
    });
    // A command that ends without reading its input is a case of its own.
    child.stdin?.on('error', () => {});
    if (options.stdin) options.stdin.pipe(child.stdin!);
    else child.stdin?.end(options.input);
    return new Running(child, options.limitMs);
  }

  run(args: string[], options: RunOptions = {}): Promise<Outcome> {
    return this.start(args, options).ended;
  }

  /** A run that has to end well. */
  async ok(args: string[], options: RunOptions = {}): Promise<Outcome> {
    const outcome = await this.run(args, options);
    if (outcome.code !== 0) assert.fail(`szafa ${args.join(' ')}\n${outcome.stdout}\n${outcome.stderr}`);
    return outcome;
  }

  async remove(): Promise<void> {
    await rm(this.home, { recursive: true, force: true });
  }
}

/** An error for people: one line that says what, one that says what to do, and no stack. */
export function assertError(outcome: Outcome, code: number, message: RegExp, hint?: RegExp): void {
  assert.equal(outcome.code, code, `${outcome.stdout}\n${outcome.stderr}`);
  const lines = outcome.stderr.trimEnd().split('\n');
  const at = lines.findIndex((line) => message.test(line));
  assert.ok(at >= 0, `${message} in:\n${outcome.stderr}`);
  assert.match(lines[at]!, /^szafa: /);
  assert.match(lines[at + 1] ?? '', /^hint: ./, outcome.stderr);
  if (hint) assert.match(lines[at + 1] ?? '', hint);
  assert.doesNotMatch(outcome.stderr, /^\s+at .*:\d+:\d+/m, 'a stack trace');
}
