const STEP = 1024 * 1024;
/** As far as a slot can grow: a usual volume, and one behind number 1,000 of a stream. Address space alone, which some machines limit: 64 small files at once have to fit. */
const LARGE = 65 * STEP;
const ROOMS = [9 * STEP, LARGE];

/**
 * Shared memory for volumes, used again and again: both the main thread and the workers see it, so nothing is
 * copied or transferred, and the system does not have to clear new pages for every volume. Nobody can free it but the engine, which
 * does not hurry: a slot is let go of only where another one is needed, and grows instead where it can. Memory that can
 * grow also begins at a page, as writing past the page cache wants it.
 */
export class Slots {
  readonly #free: SharedArrayBuffer[] = [];
  readonly #most: number;
  /** In use or free. */
  #bytes = 0;

  /** `most`: bytes beyond which what is not in use makes room for what is needed. */
  constructor(most: number) {
    this.#most = most;
  }

  /** At least `length` bytes; give it back once, when nobody reads it any more. */
  take(length: number): { memory: SharedArrayBuffer; release(): void } {
    const size = Math.ceil(length / STEP) * STEP;
    const memory = this.#kept(size) ?? this.#made(size);
    const more = Math.max(0, size - memory.byteLength);
    if (more > 0) memory.grow(size);
    this.#bytes += more;
    let held = true;
    const release = () => {
      if (held) this.#free.push(memory);
      held = false;
    };
    return { memory, release };
  }

  /** The smallest one that is large enough, or the largest of those that can become so. */
  #kept(size: number): SharedArrayBuffer | undefined {
    const bySize = this.#free.toSorted((a, b) => a.byteLength - b.byteLength);
    const memory =
      bySize.find(({ byteLength }) => byteLength >= size) ??
      bySize.findLast(({ maxByteLength }) => maxByteLength >= size);
    if (memory) this.#free.splice(this.#free.indexOf(memory), 1);
    return memory;
  }

  /** For what no other one can become, lets go of what was not used for longest; else of nothing, since it would be made anew. */
  #made(size: number): SharedArrayBuffer {
    while (size > LARGE && this.#free.length > 0 && this.#bytes + size > this.#most) {
      this.#bytes -= this.#free.shift()!.byteLength;
    }
    return new SharedArrayBuffer(0, { maxByteLength: ROOMS.find((room) => room >= size) ?? size });
  }
}
