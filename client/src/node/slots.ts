const STEP = 1024 * 1024;

/**
 * Shared memory for volumes, used again and again: both the main thread and the workers see it, so nothing is
 * copied or transferred, and the system does not have to clear new pages for every volume. It is made so that it could
 * grow, which it never does: such memory begins at a page, as writing past the page cache wants it.
 */
export class Slots {
  readonly #free: SharedArrayBuffer[] = [];
  readonly #most: number;
  /** In use or free. */
  #bytes = 0;

  /** `most`: bytes beyond which nothing is kept that is not in use. */
  constructor(most: number) {
    this.#most = most;
  }

  /** At least `length` bytes; give it back once, when nobody reads it any more. */
  take(length: number): { memory: SharedArrayBuffer; release(): void } {
    const size = Math.ceil(length / STEP) * STEP;
    const memory = this.#taken(size) ?? this.#made(size);
    let held = true;
    const release = () => {
      if (!held) return;
      held = false;
      this.#free.push(memory);
      this.#trim(0);
    };
    return { memory, release };
  }

  /** The smallest one that is large enough: what is let go of instead stays until the engine looks for garbage. */
  #taken(size: number): SharedArrayBuffer | undefined {
    let best = -1;
    for (const [at, { byteLength }] of this.#free.entries()) {
      if (byteLength >= size && !(best >= 0 && this.#free[best]!.byteLength <= byteLength)) best = at;
    }
    return best < 0 ? undefined : this.#free.splice(best, 1)[0];
  }

  #made(size: number): SharedArrayBuffer {
    this.#trim(size);
    this.#bytes += size;
    return new SharedArrayBuffer(size, { maxByteLength: size });
  }

  /** Lets go of what was not used for longest, until there is room for so much more. */
  #trim(more: number): void {
    while (this.#free.length > 0 && this.#bytes + more > this.#most) {
      this.#bytes -= this.#free.shift()!.byteLength;
    }
  }
}
