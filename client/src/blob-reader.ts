import { FileChangedError } from './errors.ts';

/** Being read. Chromium collects a stream that only its own reader knows of, and what waits for it then waits forever. */
const reading = new Set<ReadableStream>();

function byteReader(stream: ReadableStream<Uint8Array>): ReadableStreamBYOBReader | undefined {
  try {
    return stream.getReader({ mode: 'byob' });
  } catch (error) {
    if (error instanceof TypeError) return undefined; // a browser whose blobs cannot be read into given memory
    throw error;
  }
}

/**
 * Reads a whole blob to the beginning of the memory and gives the memory back; the buffer that was handed in is gone then. New
 * memory for every volume would cost a browser as much as sealing it.
 */
export async function readBlob(blob: Blob, memory: ArrayBuffer): Promise<ArrayBuffer> {
  const stream = blob.stream();
  const reader = byteReader(stream);
  if (!reader) {
    new Uint8Array(memory).set(new Uint8Array(await blob.arrayBuffer()));
    return memory;
  }
  let now = memory;
  reading.add(stream);
  try {
    for (let at = 0; at < blob.size; ) {
      const { value, done } = await reader.read(new Uint8Array(now, at, blob.size - at));
      if (done) throw new FileChangedError();
      now = value.buffer;
      at += value.length;
    }
    return now;
  } finally {
    reading.delete(stream);
    reader.releaseLock();
    await stream.cancel();
  }
}
