/** Limit for all volumes in flight; a larger volume is processed alone. */
export const MOST_BYTES = 64 * 1024 * 1024;

export interface MemoryLease {
  /** Returns this many of the leased bytes; all remaining ones by default. */
  release(bytes?: number): void;
}

/** Limits the memory of all uploads of a session. Take a lease before reading a volume. Leases are granted in order. */
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
