import { extentOf, type SealedVolume, sealedSize } from '@szafa/format';
import { limits } from '@szafa/protocol';
import type { VolumeSupply } from '../../transfers/upload/supply.ts';

interface CachedVolume {
  sealed?: Promise<SealedVolume>;
  readers: number;
}

/** Limit for all cached volumes together, unless a single one is larger. */
const MOST_BYTES = 192 * 1024 * 1024;

export type VolumeCache = ReturnType<typeof volumeCache>;

/**
 * Caches sealed volumes that several connections read. Volumes with readers stay. Others stay while they fit, since a volume is requested
 * part by part. A connection waits if it exceeds the memory limit or the server's own limit of parallel downloads.
 */
export function volumeCache(supply: VolumeSupply) {
  /** Least recently used first. */
  const volumes = new Map<number, CachedVolume>();
  const waiting: (() => void)[] = [];
  let failure: Error | undefined;

  const sizeOf = (idx: number) => sealedSize(extentOf(supply.layout, idx).length);
  const wake = () => {
    for (const resolve of waiting.splice(0)) resolve();
  };

  const fits = (idx: number): boolean => {
    if (failure || (volumes.get(idx)?.readers ?? 0) > 0) return true;
    const inUse = [...volumes].filter(([, { readers }]) => readers > 0);
    if (inUse.length === 0) return true;
    const bytes = inUse.reduce((sum, [used]) => sum + sizeOf(used), sizeOf(idx));
    return inUse.length < limits.pullDownloads && bytes <= MOST_BYTES;
  };

  const trim = async (most = MOST_BYTES): Promise<void> => {
    let bytes = [...volumes.keys()].reduce((sum, idx) => sum + sizeOf(idx), 0);
    for (const [idx, volume] of [...volumes]) {
      if (bytes <= most) return;
      if (volume.readers > 0) continue;
      volumes.delete(idx);
      bytes -= sizeOf(idx);
      await volume.sealed?.then(({ release }) => release()).catch(() => {}); // a failed volume holds no memory
    }
  };

  return {
    sizeOf,
    /** Returns the error of a volume that could not be sealed because the file changed or cannot be read. */
    failure: () => failure,

    /**
     * Waits for memory, seals the volume if needed, and calls `work` with its bytes.
     * @param isWanted false if the connection has closed in the meantime
     */
    async use(
      idx: number,
      isWanted: () => boolean,
      work: (bytes: Uint8Array) => Promise<void>,
    ): Promise<void> {
      while (isWanted() && !fits(idx)) await new Promise<void>((resolve) => waiting.push(resolve));
      if (!isWanted()) return wake();
      if (failure) throw failure;
      const volume = volumes.get(idx) ?? { readers: 0 };
      volumes.delete(idx);
      volumes.set(idx, volume);
      volume.readers++;
      volume.sealed ??= trim().then(() => supply.take(idx));
      try {
        const { bytes } = await volume.sealed.catch((error: Error) => {
          failure ??= error;
          throw error;
        });
        await work(bytes);
      } finally {
        volume.readers--;
        await trim();
        wake();
      }
    },

    /** Waits for volumes that are being sealed, and releases everything. Call it after all connections are closed. */
    async clear(): Promise<void> {
      for (const volume of volumes.values()) volume.readers = 0;
      await trim(0);
    },
  };
}
