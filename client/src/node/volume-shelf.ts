import type { SealedVolume } from '../format/engine.ts';
import { extentOf } from '../format/layout.ts';
import { sealedSize } from '../format/segments.ts';
import type { VolumeSupply } from '../upload/supply.ts';

interface Place {
  sealed: Promise<SealedVolume>;
  users: number;
}

const MOST_BYTES = 128 * 1024 * 1024;

/**
 * Sealed volumes that several connections read at once. Those in use stay; of the others as many as fit, since
 * the parts of one volume are asked for one after the other.
 */
export class VolumeShelf {
  /** Why a volume could not be sealed: the file changed, or cannot be read. */
  failure: Error | undefined;
  readonly #supply: VolumeSupply;
  readonly #places = new Map<number, Place>();

  constructor(supply: VolumeSupply) {
    this.#supply = supply;
  }

  get count(): number {
    return this.#supply.layout.count;
  }

  sizeOf(idx: number): number {
    return sealedSize(extentOf(this.#supply.layout, idx).length);
  }

  async use(idx: number, work: (bytes: Uint8Array) => Promise<void>): Promise<void> {
    if (this.failure) throw this.failure;
    const place = this.#places.get(idx) ?? { sealed: this.#supply.take(idx), users: 0 };
    // At the end of the map: the most recently used.
    this.#places.delete(idx);
    this.#places.set(idx, place);
    place.users++;
    try {
      const { bytes } = await place.sealed.catch((error: Error) => {
        this.failure ??= error;
        throw error;
      });
      await work(bytes);
    } finally {
      place.users--;
      await this.#trim(MOST_BYTES);
    }
  }

  /** When nobody is served any more: waits for what is still being sealed, and gives everything back. */
  async clear(): Promise<void> {
    for (const place of this.#places.values()) place.users = 0;
    await this.#trim(0);
  }

  async #trim(most: number): Promise<void> {
    let held = [...this.#places.keys()].reduce((sum, idx) => sum + this.sizeOf(idx), 0);
    for (const [idx, place] of [...this.#places]) {
      if (held <= most) return;
      if (place.users > 0) continue;
      this.#places.delete(idx);
      held -= this.sizeOf(idx);
      // One that failed has nothing to give back.
      await place.sealed.then(({ release }) => release()).catch(() => {});
    }
  }
}
