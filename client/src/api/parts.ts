const PART_BYTES = 256 * 1024;
/** As many bodies as are read at once. */
const MOST_SPARE = 8;
const spare: ArrayBuffer[] = [];
/** Being read. Chromium collects a stream that only its own reader knows of, and what waits for it then waits forever. */
const reading = new Set<ReadableStream>();

/**
 * A body as it comes, each part good until the next is asked for: they come in the same memory, where a browser can do
 * that. New memory for each would be freed when the collector comes, and that is late where much arrives.
 */
export async function* partsOf(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<Uint8Array, void> {
  const reader = readerOf(body);
  reading.add(body);
  let memory = spare.pop() ?? new ArrayBuffer(PART_BYTES);
  let whole = false;
  try {
    for (;;) {
      const { done, value } = await reader.read(new Uint8Array(memory));
      if (value && reader instanceof ReadableStreamBYOBReader) memory = value.buffer;
      whole = done;
      if (done) return;
      yield value;
    }
  } finally {
    reading.delete(body);
    if (!whole) await reader.cancel();
    else if (spare.length < MOST_SPARE) spare.push(memory);
  }
}

function readerOf(body: ReadableStream<Uint8Array<ArrayBuffer>>): ReadableStreamBYOBReader {
  try {
    return body.getReader({ mode: 'byob' });
  } catch (error) {
    // A stream that cannot be read into given memory; its reader takes no notice of it.
    if (error instanceof TypeError) return body.getReader() as unknown as ReadableStreamBYOBReader;
    throw error;
  }
}
