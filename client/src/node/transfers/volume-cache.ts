import { extentOf, type SealedVolume, sealedSize } from '@szafa/format';
import { limits } from '@szafa/protocol';
import type { VolumeSupply } from '../../upload/supply.ts';

interface Place {
  sealed?: Promise<SealedVolume>;
  users: number;
}

/** Of all volumes that are here, unless a single one is larger. */
const MOST_BYTES = 192 * 1024 * 1024;

/**
 * Sealed volumes that several connections read at once. Those in use stay, and a connection that asks for one more than
 * the service ever fetches at once waits; of the others as many as fit, since the parts of one volume are asked for one
 * after the other.
 */
export class VolumeShelf {
  /** Why a volume could not be sealed: the file changed, or cannot be read. */
  failure: Error | undefined;
  readonly #supply: VolumeSupply;
  readonly #places = new Map<number, Place>();
  /** Who waits for room, in the order they came. */
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

  /** `wanted`: false when whoever asked has gone while he waited. */
  async use(idx: number, wanted: () => boolean, work: (bytes: Uint8Array) => Promise<void>): Promise<void> {
    while (wanted() && !this.#hasRoom(idx)) await new Promise<void>((go) => this.#waiting.push(go));
    if (!wanted()) return this.#wake();
    if (this.failure) throw this.failure;
    const place = this.#places.get(idx) ?? { users: 0 };
    // At the end of the map: the most recently used.
    this.#places.delete(idx);
    this.#places.set(idx, place);
    place.users++;
    place.sealed ??= this.#trim().then(() => this.#supply.take(idx));
    try {
      const { bytes } = await place.sealed.catch((error: Error) => {
        this.failure ??= error;
        throw error;
      });
      await work(bytes);
    } finally {
      place.users--;
      await this.#trim();
      this.#wake();
    }
  }

  #hasRoom(idx: number): boolean {
    if (this.failure || (this.#places.get(idx)?.users ?? 0) > 0) return true;
    const inUse = [...this.#places].filter(([, { users }]) => users > 0);
    if (inUse.length === 0) return true;
    const bytes = inUse.reduce((sum, [used]) => sum + this.sizeOf(used), this.sizeOf(idx));
    return inUse.length < limits.pullDownloads && bytes <= MOST_BYTES;
  }

  /** Each looks for itself whether there is room now. */
  #wake(): void {
    for (const go of this.#waiting.splice(0)) go();
  }

  /** When nobody is served any more: waits for what is still being sealed, and gives everything back. */
  async clear(): Promise<void> {
    for (const place of this.#places.values()) place.users = 0;
    await this.#trim(0);
  }

  async #trim(most = MOST_BYTES): Promise<void> {
    let held = [...this.#places.keys()].reduce((sum, idx) => sum + this.sizeOf(idx), 0);
    for (const [idx, place] of [...this.#places]) {
      if (held <= most) return;
      if (place.users > 0) continue;
      this.#places.delete(idx);
      held -= this.sizeOf(idx);
      // One that failed has nothing to give back.
      await place.sealed?.then(({ release }) => release()).catch(() => {});
    }
  }
}
