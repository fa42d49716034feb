/** As far as one piece of shared memory can grow. Address space alone, which some machines limit: a few of these have to fit. */
const REACH = 256 * 1024 * 1024;
/** What is lent begins at one, as writing past the page cache wants it. */
const PAGE = 4096;

interface Range {
  from: number;
  to: number;
}

interface Block {
  memory: SharedArrayBuffer;
  /** By their places. */
  lent: Range[];
}

/**
 * Shared memory for volumes, lent in ranges: both the main thread and the workers see it, so nothing is copied or transferred, and the
 * system does not have to clear new pages for every volume. Nobody can free it but the engine, which does not hurry: it is kept, and
 * grows only where no range is free. How much is lent at once is for those to bound who ask (`VolumeMemory`), before they ask.
 */
export class Arena {
  #blocks: Block[] = [];

  /** Bytes that nobody else has until they are released, which is when nobody reads or writes them any more. */
  lend(length: number): { bytes: Uint8Array; release(): void } {
    // At least one, or two would have one place.
    const size = Math.max(1, Math.ceil(length / PAGE)) * PAGE;
    const { memory, lent } =
      this.#blocks.find((block) => placeIn(block, size) !== undefined) ?? this.#made(size);
    const from = placeIn({ memory, lent }, size)!;
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

  /** A volume that is larger than usual has a block to itself, and lets go of those of others like it. */
  #made(size: number): Block {
    const kept = ({ memory, lent }: Block) => lent.length > 0 || memory.maxByteLength <= REACH;
    if (size > REACH) this.#blocks = this.#blocks.filter(kept);
    const memory = new SharedArrayBuffer(0, { maxByteLength: Math.max(REACH, size) });
    const block = { memory, lent: [] };
    this.#blocks.push(block);
    return block;
  }
}

/** The lowest place that is free: what was used before is used again, and little of the rest ever is. */
function placeIn({ memory, lent }: Block, size: number): number | undefined {
  let from = 0;
  for (const range of lent) {
    if (range.from - from >= size) return from;
    from = range.to;
  }
  return memory.maxByteLength - from >= size ? from : undefined;
}
