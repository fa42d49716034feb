import { extentOf, type SealedVolume, sealedSize } from '@szafa/format';
import { limits } from '@szafa/protocol';
import type { VolumeSupply } from '../../transfers/upload/supply.ts';

interface CachedVolume {
  sealed?: Promise<SealedVolume>;
  readers: number;
}

/** Limit of all cached volumes together, unless a single one is larger. */
const MOST_BYTES = 192 * 1024 * 1024;

/**
 * Sealed volumes that several connections read. Volumes with readers stay; the others stay while they fit, since the parts of a volume
 * are requested one after the other. A connection beyond the server's own limit of parallel downloads waits.
 */
export class VolumeCache {
  /** Why a volume could not be sealed: the file changed, or cannot be read. */
  failure: Error | undefined;
  readonly #supply: VolumeSupply;
  /** The most recently used last. */
  readonly #volumes = new Map<number, CachedVolume>();
  readonly #waiting: (() => void)[] = [];

  constructor(supply: VolumeSupply) {
    this.#supply = supply;
  }

  get count(): number {
    return this.#supply.layout.count;
  }

  sizeOf(idx: number): number {
    return sealedSize(extentOf(this.#supply.layout, idx).length);
  }

  /**
   * Waits for memory, seals the volume if needed, and calls `work` with its bytes.
   * @param isWanted false if the connection ended in the meantime
   */
  async use(idx: number, isWanted: () => boolean, work: (bytes: Uint8Array) => Promise<void>): Promise<void> {
    while (isWanted() && !this.#fits(idx)) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (!isWanted()) return this.#wake();
    if (this.failure) throw this.failure;
    const volume = this.#volumes.get(idx) ?? { readers: 0 };
    this.#volumes.delete(idx);
    this.#volumes.set(idx, volume);
    volume.readers++;
    volume.sealed ??= this.#trim().then(() => this.#supply.take(idx));
    try {
      const { bytes } = await volume.sealed.catch((error: Error) => {
        this.failure ??= error;
        throw error;
      });
      await work(bytes);
    } finally {
      volume.readers--;
      await this.#trim();
      this.#wake();
    }
  }

  #fits(idx: number): boolean {
    if (this.failure || (this.#volumes.get(idx)?.readers ?? 0) > 0) return true;
    const inUse = [...this.#volumes].filter(([, { readers }]) => readers > 0);
    if (inUse.length === 0) return true;
    const bytes = inUse.reduce((sum, [used]) => sum + this.sizeOf(used), this.sizeOf(idx));
    return inUse.length < limits.pullDownloads && bytes <= MOST_BYTES;
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Waits for volumes that are being sealed, and releases all. Call it when no connection is left. */
  async clear(): Promise<void> {
    for (const volume of this.#volumes.values()) volume.readers = 0;
    await this.#trim(0);
  }

  async #trim(most = MOST_BYTES): Promise<void> {
    let bytes = [...this.#volumes.keys()].reduce((sum, idx) => sum + this.sizeOf(idx), 0);
    for (const [idx, volume] of [...this.#volumes]) {
      if (bytes <= most) return;
      if (volume.readers > 0) continue;
      this.#volumes.delete(idx);
      bytes -= this.sizeOf(idx);
      await volume.sealed?.then(({ release }) => release()).catch(() => {}); // a failed one has no memory
    }
  }
}
