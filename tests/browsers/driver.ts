/** A real browser of any make, as far as one visit needs it. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

const START_MS = 180_000;

export interface Driver {
  readonly name: string;
  /** Where the browser saves what it downloads. */
  readonly downloads: string;
  goto(url: string): Promise<void>;
  /** What the function, which sees nothing but the page and its arguments, returns or resolves to. */
  evaluate<Args extends unknown[], T>(work: (...args: Args) => T | Promise<T>, ...args: Args): Promise<T>;
  /** Chooses files as the picker does. */
  choose(selector: string, paths: string[]): Promise<void>;
  close(): Promise<void>;
}

export function programOf(name: string, debianPackage: string): string {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const found = folders.map((folder) => join(folder, name)).find(existsSync);
  assert.ok(found, `${name} is missing: apt-get install ${debianPackage}`);
  return found;
}

/** A process that does not outlive the test, in a group with those that it starts itself. */
export function start(
  command: string,
  args: string[],
  env: Record<string, string> = {},
): ChildProcess & { stderr: Readable; stdout: Readable } {
  return spawn('setpriv', ['--pdeathsig', 'KILL', command, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    env: { ...process.env, ...env },
  }) as ChildProcess & { stderr: Readable; stdout: Readable };
}

/** The first group of the first line that fits. */
export async function lineOf(stream: Readable, pattern: RegExp): Promise<string> {
  const said: string[] = [];
  const lines = createInterface({ input: stream });
  const found = (async () => {
    for await (const line of lines) {
      said.push(line);
      const match = pattern.exec(line);
      if (match) return match[1] ?? '';
    }
    throw new Error(`it ended before it said ${pattern}: ${said.join('\n')}`);
  })();
  const limit = setTimeout(() => lines.close(), START_MS);
  try {
    return await found;
  } finally {
    clearTimeout(limit);
    stream.resume();
  }
}

export async function end(child: ChildProcess): Promise<void> {
  const running = child.exitCode === null && child.signalCode === null;
  const exited = running ? once(child, 'exit') : undefined;
  try {
    process.kill(-child.pid!, 'SIGKILL');
  } catch {
    // All of them are gone already.
  }
  await exited;
}
