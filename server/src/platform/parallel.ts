import { setImmediate as nextTurn } from 'node:timers/promises';

/** Work of this length keeps nobody else waiting. */
const TURN_MS = 10;

/**
 * Works on all of them, so many at a time. The first error ends it: nothing more is begun, and it is thrown when nothing is under way any
 * more, so that whoever cleans up after it comes last.
 */
export async function inParallel<T>(
  items: Iterable<T> | AsyncIterable<T>,
  atOnce: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  // Shared by all: a loop that throws ends it for the others as well.
  const queue = (async function* () {
    yield* items;
  })();
  const workers = Array.from({ length: atOnce }, async () => {
    for await (const item of queue) await work(item);
  });
  const all = Promise.all(workers);
  await Promise.allSettled([all, ...workers]);
  await all;
}

/** Collects items that take some work each, and lets other requests run in between. */
export async function collectInTurns<T>(items: Iterable<T>): Promise<T[]> {
  const found: T[] = [];
  let since = performance.now();
  for (const item of items) {
    found.push(item);
    if (performance.now() - since < TURN_MS) continue;
    await nextTurn();
    since = performance.now();
  }
  return found;
}
