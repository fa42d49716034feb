const PART_BYTES = 256 * 1024;
/** As many bodies as are read at once. */
const MOST_SPARE = 8;
const spare: ArrayBuffer[] = [];
/** Being read. Chromium collects a stream that only its own reader knows of, and what waits for it then waits forever. */
const reading = new Set<ReadableStream>();

type Body = ReadableStream<Uint8Array<ArrayBuffer>>;

/**
 * A body as it comes, each part good until the next is asked for: they come in the same memory, where a browser can do
 * that. New memory for each would be freed when the collector comes, and that is late where much arrives.
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
  /** At the end: its memory is for others. */
  giveBack(): void;
}

function readerOf(body: Body): Reader {
  let reader: ReadableStreamBYOBReader;
  try {
    reader = body.getReader({ mode: 'byob' });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // In this browser bodies cannot be read into given memory.
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
