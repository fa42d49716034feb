/**
 * Reserved address space of one block; physical memory is used only as it grows. Small enough that a few blocks fit where address space
 * is limited.
 */
const BLOCK_BYTES = 256 * 1024 * 1024;
/** Lent memory is page-aligned, as O_DIRECT writes require. */
const PAGE = 4096;

interface Range {
  from: number;
  to: number;
}

interface Block {
  memory: SharedArrayBuffer;
  /** Sorted by offset. */
  lent: Range[];
}

/**
 * Lends shared memory for volumes. The main thread and the workers see the same bytes, so nothing is copied, and the system does not have
 * to zero new pages for every volume. The pool grows only if no range is free, and never shrinks. It has no limit of its own: callers
 * limit what they borrow (`VolumeMemory`).
 */
export class MemoryPool {
  #blocks: Block[] = [];

  /** Lends memory until `release` is called. The caller must not touch it afterwards. */
  lend(length: number): { bytes: Uint8Array; release(): void } {
    // At least one page: empty ranges would share an offset with others.
    const size = Math.max(1, Math.ceil(length / PAGE)) * PAGE;
    const { memory, lent } =
      this.#blocks.find((block) => findFree(block, size) !== undefined) ?? this.#addBlock(size);
    const from = findFree({ memory, lent }, size)!;
    const range = { from, to: from + size };
    if (range.to > memory.byteLength) memory.grow(range.to);
    lent.push(range);
    lent.sort((a, b) => a.from - b.from);
    const release = () => {
      const at = lent.indexOf(range);
      if (at >= 0) lent.splice(at, 1);
    };
    return { bytes: new Uint8Array(memory, from, length), release };
  }

  /** Adds a block. An oversized volume gets its own block, and unused oversized blocks are dropped first. */
  #addBlock(size: number): Block {
    const isKept = ({ memory, lent }: Block) => lent.length > 0 || memory.maxByteLength <= BLOCK_BYTES;
    if (size > BLOCK_BYTES) this.#blocks = this.#blocks.filter(isKept);
    const memory = new SharedArrayBuffer(0, { maxByteLength: Math.max(BLOCK_BYTES, size) });
    const block = { memory, lent: [] };
    this.#blocks.push(block);
    return block;
  }
}

/** Finds the lowest free offset, so that the same pages are reused. */
function findFree({ memory, lent }: Block, size: number): number | undefined {
  let from = 0;
  for (const range of lent) {
    if (range.from - from >= size) return from;
    from = range.to;
  }
  return memory.maxByteLength - from >= size ? from : undefined;
}
