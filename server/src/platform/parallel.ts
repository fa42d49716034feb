import { setImmediate as nextTurn } from 'node:timers/promises';

/** Longest synchronous work before other requests get a turn. */
const TURN_MS = 10;

/**
 * Processes all items, `atOnce` at a time. After the first error it starts no more work, and throws only when all running
 * work has ended, so that the caller can clean up safely.
 */
export async function inParallel<T>(
  items: Iterable<T> | AsyncIterable<T>,
  atOnce: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  // Shared by all workers: when one throws, the queue ends for the others too.
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

/** Collects the items of a costly generator, and lets other requests run in between. */
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
