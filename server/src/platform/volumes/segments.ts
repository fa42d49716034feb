/** Memory that starts at a page boundary, as O_DIRECT requires. */
export type Segment = Uint8Array<ArrayBuffer>;

export const PAGE_BYTES = 4096;
const WASM_PAGE_BYTES = 65_536;

/**
 * A bounded pool of page-aligned segments. An operation leases two, to fill one while the other is written. When all are in
 * use, it gets none and uses small buffers of its own: memory stays bounded, and slow clients do not block others.
 */
export class SegmentPool {
  readonly #free: Segment[] = [];

  /** `bytes` must be a multiple of 64 KiB. */
  constructor(segments: number, bytes: number) {
    // Only WebAssembly memory is guaranteed to be page-aligned. The system allocates its pages on first use, so the segment
    // released last is leased first.
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
