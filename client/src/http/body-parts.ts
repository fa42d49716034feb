const PART_BYTES = 256 * 1024;
/** Enough for bodies that are read at the same time. */
const MOST_SPARE = 8;
const spare: ArrayBuffer[] = [];
/** Streams being read. Chromium collects a stream that only its reader refers to, and reads then never finish. */
const reading = new Set<ReadableStream>();

type Body = ReadableStream<Uint8Array<ArrayBuffer>>;

/**
 * Yields the parts of a body as they arrive. Each part is valid only until the next one is requested: where the browser supports it, all
 * parts share the same memory, since new memory for each would be collected too late during large downloads.
 */
export async function* partsOf(body: Body): AsyncGenerator<Uint8Array, void> {
  const reader = readerOf(body);
  reading.add(body);
  let isWhole = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      isWhole = done;
      if (done) return;
      yield value;
    }
  } finally {
    reading.delete(body);
    if (isWhole) reader.giveBack();
    else await reader.cancel();
  }
}

interface Reader {
  read(): Promise<ReadableStreamReadResult<Uint8Array>>;
  cancel(): Promise<void>;
  /** Returns the memory for reuse. */
  giveBack(): void;
}

function readerOf(body: Body): Reader {
  let reader: ReadableStreamBYOBReader;
  try {
    reader = body.getReader({ mode: 'byob' });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // This browser cannot read bodies into given memory.
    const plain = body.getReader();
    return { read: () => plain.read(), cancel: () => plain.cancel(), giveBack: () => {} };
  }
  let memory: ArrayBuffer | undefined = spare.pop() ?? new ArrayBuffer(PART_BYTES);
  return {
    async read() {
      const result = await reader.read(new Uint8Array(memory!));
      memory = result.value?.buffer;
      return result as ReadableStreamReadResult<Uint8Array>;
    },
    cancel: () => reader.cancel(),
    giveBack() {
      if (memory && spare.length < MOST_SPARE) spare.push(memory);
    },
  };
}
