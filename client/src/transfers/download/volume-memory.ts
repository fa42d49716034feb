import { type Layout, largestVolume } from '@szafa/format';
import { concurrencyFor, unlessAborted } from '../../pool.ts';
import { MOST_BYTES, VolumeMemory } from '../upload/memory.ts';

const PARALLEL = 4;

/**
 * Shared by downloads that can always continue on their own. Streams must not use it: they depend on their readers, which may wait for
 * each other.
 */
const memory = new VolumeMemory();

/** Waits for the memory of `parallel` volumes, or of as many as fit, and calls `work` with that number. */
export async function withVolumeMemory<T>(
  layout: Layout,
  { parallel = PARALLEL, signal }: { parallel?: number | undefined; signal?: AbortSignal | undefined },
  work: (parallel: number) => Promise<T>,
): Promise<T> {
  const largest = largestVolume(layout);
  const allowed = concurrencyFor(largest, parallel, MOST_BYTES);
  const reserved = memory.take(Math.min(layout.size, allowed * largest));
  try {
    await unlessAborted(reserved, signal);
    return await work(allowed);
  } finally {
    void reserved.then(({ release }) => release());
  }
}
