import { type Layout, largestVolume } from '@szafa/format';
import { concurrencyFor, unlessAborted } from '../../pool.ts';
import { MOST_BYTES, VolumeMemory } from '../upload/memory.ts';

const PARALLEL = 4;

/** For volumes of all files that are fetched at once by whoever needs nobody else to go on; not for streams, whose readers may wait for each other. */
const memory = new VolumeMemory();

/** `work` when there is room for so many volumes of the file. */
export async function inRoom<T>(
  layout: Layout,
  { parallel = PARALLEL, signal }: { parallel?: number | undefined; signal?: AbortSignal | undefined },
  work: (lanes: number) => Promise<T>,
): Promise<T> {
  const largest = largestVolume(layout);
  const lanes = concurrencyFor(largest, parallel, MOST_BYTES);
  const room = memory.take(Math.min(layout.size, lanes * largest));
  try {
    await unlessAborted(room, signal);
    return await work(lanes);
  } finally {
    void room.then(({ release }) => release());
  }
}
