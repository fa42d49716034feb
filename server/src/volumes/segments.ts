/** A piece of memory that starts at a page boundary, as O_DIRECT wants it. */
export type Segment = Uint8Array<ArrayBuffer>;

export const SEGMENT_BYTES = 1024 * 1024;
export const PAGE_BYTES = 4096;

/**
 * A bounded set of reusable, page-aligned segments. An operation leases two, one to fill while the other is
 * written, or gets none when all are out: it then works with small buffers of its own, so memory stays
 * bounded and slow clients cannot make others wait.
 */
export class SegmentPool {
  readonly #free: Segment[] = [];
  #unmade: number;

  constructor(segments: number) {
    this.#unmade = segments;
  }

  lease(): [Segment, Segment] | undefined {
    const first = this.#free.pop() ?? this.#make();
    if (!first) return undefined;
    const second = this.#free.pop() ?? this.#make();
    if (second) return [first, second];
    this.#free.push(first);
    return undefined;
  }

  release(lease: Segment[]): void {
    this.#free.push(...lease);
  }

  #make(): Segment | undefined {
    if (this.#unmade === 0) return undefined;
    this.#unmade--;
    // The memory of a WebAssembly instance is aligned to pages; nothing else in JavaScript promises that.
    const memory = new WebAssembly.Memory({ initial: SEGMENT_BYTES / 65536, maximum: SEGMENT_BYTES / 65536 });
    return new Uint8Array(memory.buffer as ArrayBuffer);
  }
}
