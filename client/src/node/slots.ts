const STEP = 1024 * 1024;

/**
 * Shared memory for volumes, used again and again: both the main thread and the workers see it, so nothing is
 * copied or transferred, and the system does not have to clear new pages for every volume. It is made so that it could
 * grow, which it never does: such memory begins at a page, as writing past the page cache wants it.
 */
export class Slots {
  readonly #free: SharedArrayBuffer[] = [];
  readonly #mostFree: number;
  #freeBytes = 0;

  constructor(mostFree: number) {
    this.#mostFree = mostFree;
  }

  /** At least `length` bytes; give it back once, when nobody reads it any more. */
  take(length: number): { memory: SharedArrayBuffer; release(): void } {
    const size = Math.ceil(length / STEP) * STEP;
    const at = this.#free.findIndex((memory) => memory.byteLength === size);
    const memory =
      at < 0 ? new SharedArrayBuffer(size, { maxByteLength: size }) : this.#free.splice(at, 1)[0]!;
    if (at >= 0) this.#freeBytes -= size;
    let held = true;
    const release = () => {
      if (!held) return;
      held = false;
      this.#free.push(memory);
      this.#freeBytes += size;
      while (this.#freeBytes > this.#mostFree) this.#freeBytes -= this.#free.shift()!.byteLength;
    };
    return { memory, release };
  }
}
