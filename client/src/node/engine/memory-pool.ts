/** Address space of one block; memory is only used as it grows. Some machines limit address space, and a few blocks have to fit. */
const BLOCK_BYTES = 256 * 1024 * 1024;
/** Lent memory begins at a page, which writing past the page cache needs. */
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
 * Lends shared memory for volumes. The main thread and the workers see the same bytes, so nothing is copied, and the system does not
 * have to clear new pages for every volume. The pool grows only if no range is free, and keeps its memory. It has no limit of its own:
 * callers bound what they borrow (`VolumeMemory`).
 */
export class MemoryPool {
  #blocks: Block[] = [];

  /** Lends bytes until `release`, after which the caller must not touch them. */
  lend(length: number): { bytes: Uint8Array; release(): void } {
    // At least one page, or two ranges would share an offset.
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

  /** An oversized volume gets a block of its own, in place of unused oversized blocks. */
  #addBlock(size: number): Block {
    const isKept = ({ memory, lent }: Block) => lent.length > 0 || memory.maxByteLength <= BLOCK_BYTES;
    if (size > BLOCK_BYTES) this.#blocks = this.#blocks.filter(isKept);
    const memory = new SharedArrayBuffer(0, { maxByteLength: Math.max(BLOCK_BYTES, size) });
    const block = { memory, lent: [] };
    this.#blocks.push(block);
    return block;
  }
}

/** Finds the lowest free offset, to use the same pages again. */
function findFree({ memory, lent }: Block, size: number): number | undefined {
  let from = 0;
  for (const range of lent) {
    if (range.from - from >= size) return from;
    from = range.to;
  }
  return memory.maxByteLength - from >= size ? from : undefined;
}
