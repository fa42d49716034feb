/** What volumes on their way may take together; one that is larger goes alone. */
export const MOST_BYTES = 64 * 1024 * 1024;

export interface MemoryLease {
  /** Gives so many of its bytes back, or what is left of them. */
  release(bytes?: number): void;
}

/** Memory for the volumes of all uploads of a session, asked for before a volume is read, in the order of asking. */
export class VolumeMemory {
  readonly #most: number;
  #held = 0;
  readonly #waiting: { bytes: number; resolve(): void }[] = [];

  constructor(most = MOST_BYTES) {
    this.#most = most;
  }

  async take(bytes: number): Promise<MemoryLease> {
    if (this.#waiting.length > 0 || !this.#fits(bytes)) {
      await new Promise<void>((resolve) => this.#waiting.push({ bytes, resolve }));
    } else this.#held += bytes;
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
