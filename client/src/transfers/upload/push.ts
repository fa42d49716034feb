import { extentOf, sealedSize } from '@szafa/format';
import { forEach, range } from '../../pool.ts';
import type { UploadLog } from './journal.ts';
import type { UploadContext } from './options.ts';
import type { Sender } from './sender.ts';
import type { VolumeSupply } from './supply.ts';

/** What the service lacks; the rest is behind this attempt. */
export function missingOf({ sent }: Sender, { layout }: VolumeSupply, here: Set<number>): number[] {
  const missing = [...range(1, layout.count)].filter((idx) => !here.has(idx));
  sent.begin(missing.reduce((left, idx) => left - extentOf(layout, idx).length, layout.size));
  return missing;
}

/** Reads, seals, remembers and sends what the service lacks; some are sealed while others travel. */
export async function push(
  { engine, memory }: Pick<UploadContext, 'engine' | 'memory'>,
  sender: Sender,
  log: UploadLog | undefined,
  begun: { transferId: string; supply: VolumeSupply; here: Set<number>; streamed: boolean },
  signal: AbortSignal | undefined,
): Promise<void> {
  const { transferId, supply, here, streamed } = begun;
  const { layout, records } = supply;
  await forEach(missingOf(sender, supply, here), sender.parallel + engine.parallel, async (idx) => {
    const { length } = extentOf(layout, idx);
    const room = await memory.take(sealedSize(length));
    try {
      signal?.throwIfAborted();
      const isNew = !records.has(idx);
      const sealed = await supply.take(idx);
      try {
        if (isNew) await log?.volume(idx, sealed);
        await sender.send(transferId, idx, sealed, { length, streamed });
      } finally {
        sealed.release();
      }
    } finally {
      room.release();
    }
  });
}
