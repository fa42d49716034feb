/** Runs `work` over all items, at most `parallel` at once; the first error stops the taking of new ones. */
export async function forEach<T>(
  items: Iterable<T>,
  parallel: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  let failed: { error: unknown } | undefined;
  const lane = async () => {
    while (!failed) {
      const next = iterator.next();
      if (next.done) return;
      try {
        await work(next.value);
      } catch (error) {
        failed ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, parallel) }, lane));
  if (failed) throw failed.error;
}

export function* range(from: number, to: number): Generator<number> {
  for (let i = from; i <= to; i++) yield i;
}

/** Lanes for volumes of this size, so that what is in flight stays within a bound. */
export function lanesFor(volumeSize: number, wish: number, mostBytes = 128 * 1024 * 1024): number {
  return Math.max(1, Math.min(wish, Math.floor(mostBytes / Math.max(1, volumeSize))));
}
