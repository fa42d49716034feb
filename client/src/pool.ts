/**
 * Runs `work` for all items, at most `parallel` at once. After the first error, starts no more items and throws it once the running ones
 * have ended. @public
 */
export async function forEach<T>(
  items: Iterable<T>,
  parallel: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  let failed: { error: unknown } | undefined;
  let isOver = false;
  const lane = async () => {
    while (!failed && !isOver) {
      const next = iterator.next();
      if (next.done) {
        isOver = true;
        return;
      }
      try {
        await work(next.value);
      } catch (error) {
        failed ??= { error };
      }
    }
  };
  const lanes: Promise<void>[] = [];
  // There are often fewer items than `parallel`, so start no more loops than needed.
  do lanes.push(lane());
  while (lanes.length < parallel && !isOver);
  await Promise.all(lanes);
  if (failed) throw failed.error;
}

export function* range(from: number, to: number): Generator<number> {
  for (let i = from; i <= to; i++) yield i;
}

/** Returns how many volumes of this size to process at once, within a limit of bytes in flight. */
export function concurrencyFor(volumeSize: number, wish: number, mostBytes = 128 * 1024 * 1024): number {
  return Math.max(1, Math.min(wish, Math.floor(mostBytes / Math.max(1, volumeSize))));
}

/** Awaits a shared promise; aborting stops only this caller. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
