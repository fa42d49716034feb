/** Limit for all volumes in flight together; a larger volume goes alone. */
export const MOST_BYTES = 64 * 1024 * 1024;

export interface MemoryLease {
  /** Returns this many of the leased bytes, by default all that are left. */
  release(bytes?: number): void;
}

/** Bounds the memory of all uploads of a session. A lease is taken before a volume is read; first come, first served. */
export class VolumeMemory {
  readonly #most: number;
  #held = 0;
  readonly #waiting: { bytes: number; resolve(): void }[] = [];

  constructor(most = MOST_BYTES) {
    this.#most = most;
  }

  async take(bytes: number): Promise<MemoryLease> {
    await new Promise<void>((resolve) => {
      this.#waiting.push({ bytes, resolve });
      this.#admit();
    });
    let left = bytes;
    return {
      release: (part = left) => {
        left -= part;
        this.#held -= part;
        this.#admit();
      },
    };
  }

  #fits(bytes: number): boolean {
    return this.#held === 0 || this.#held + bytes <= this.#most;
  }

  #admit(): void {
    for (let next = this.#waiting[0]; next && this.#fits(next.bytes); next = this.#waiting[0]) {
      this.#waiting.shift();
      this.#held += next.bytes;
      next.resolve();
    }
  }
}
