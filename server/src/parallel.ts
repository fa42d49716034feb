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
