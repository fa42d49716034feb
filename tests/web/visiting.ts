/** A browser that no test watches: what a browser shows to those who watch, it keeps in memory for them. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { Szafa } from '@szafa/client/node';
import { Visitor } from '../../bench/src/visitor.ts';
import { freshName } from '../harness/index.ts';
import { PASSWORD } from './browser.ts';

const MIB = 1024 * 1024;
/** Files that have to take the same memory. */
const SIZES = [512 * MIB, 4096 * MIB] as const;
const MOST_MORE = 100_000_000;

export async function visiting<T>(
  url: string,
  username: string,
  way: 'browser' | 'picker',
  work: (visitor: Visitor) => Promise<T>,
): Promise<T> {
  const visitor = await Visitor.enter(url, username, PASSWORD, way);
  try {
    return await work(visitor);
  } finally {
    await visitor.stop();
  }
}

export async function registerAt(server: string): Promise<Szafa> {
  return Szafa.register({ server }, { username: freshName(), password: PASSWORD });
}

/** That the browser takes no more memory for the larger file; `work` calls `look` all the time. */
export async function assertFlat(
  t: TestContext,
  work: (size: number, look: (visitor: Visitor) => void) => Promise<void>,
): Promise<void> {
  const most: number[] = [];
  for (const [at, size] of SIZES.entries()) {
    const looks: number[] = [];
    await work(size, (visitor) => void looks.push(visitor.bytes));
    most.push(Math.max(...looks));
    t.diagnostic(`${size / MIB} MiB: ${looks[0]! / MIB} MiB before, at most ${most[at]! / MIB}`);
  }
  const more = most.at(-1)! - most[0]!;
  assert.ok(more < MOST_MORE, `${more} bytes more for the larger file`);
}
