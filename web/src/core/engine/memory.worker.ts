import { discard } from '../bridge/discard.ts';

/** Memory for volumes, used again for the next one: left to the collector, it would grow with a file that comes quickly. */
export class VolumeMemory {
  #lent = 0;
  #free: ArrayBuffer[] = [];

  borrow(length: number): { bytes: Uint8Array<ArrayBuffer>; release(): void } {
    const at = this.#free.findIndex(({ byteLength }) => byteLength >= length);
    const memory = at < 0 ? new ArrayBuffer(length) : this.#free.splice(at, 1)[0]!;
    this.#lent++;
    let held = true;
    const release = () => {
      if (held) this.#takeBack(memory);
      held = false;
    };
    return { bytes: new Uint8Array(memory, 0, length), release };
  }

  #takeBack(memory: ArrayBuffer): void {
    this.#free.push(memory);
    if (--this.#lent > 0) return;
    // Nobody reads a file any more.
    for (const one of this.#free) discard(one);
    this.#free = [];
  }
}
