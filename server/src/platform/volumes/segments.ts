/** A piece of memory that starts at a page boundary, as O_DIRECT wants it. */
export type Segment = Uint8Array<ArrayBuffer>;

export const PAGE_BYTES = 4096;
const WASM_PAGE_BYTES = 65_536;

/**
 * A bounded set of reusable, page-aligned segments. An operation leases two, one to fill while the other is
 * written, or gets none when all are out: it then works with small buffers of its own, so memory stays
 * bounded and slow clients cannot make others wait.
 */
export class SegmentPool {
  readonly #free: Segment[] = [];

  /** `bytes` is a multiple of 64 KiB. */
  constructor(segments: number, bytes: number) {
    // The memory of a WebAssembly instance is aligned to pages; nothing else in JavaScript promises that. The system
    // gives it out as it is first used, and what was used last is used next.
    const pages = (segments * bytes) / WASM_PAGE_BYTES;
    const { buffer } = new WebAssembly.Memory({ initial: pages, maximum: pages });
    for (let at = segments - 1; at >= 0; at--) {
      this.#free.push(new Uint8Array(buffer as ArrayBuffer, at * bytes, bytes));
    }
  }

  lease(): [Segment, Segment] | undefined {
    if (this.#free.length < 2) return undefined;
    return [this.#free.pop()!, this.#free.pop()!];
  }

  release(lease: Segment[]): void {
    this.#free.push(...lease);
  }
}
