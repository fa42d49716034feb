import type { Bytes } from './format/bytes.ts';

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

/** A blob in pieces of `size` bytes and a rest. A piece is good until the next one is asked for: all stand in the same memory. */
export async function* blobPieces(blob: Blob, size: number): AsyncGenerator<Bytes, void> {
  const stream = blob.stream();
  const reader = byteReader(stream);
  if (!reader) {
    for (let at = 0; at < blob.size; at += size)
      yield new Uint8Array(await blob.slice(at, at + size).arrayBuffer());
    return;
  }
  reading.add(stream);
  try {
    let memory = new ArrayBuffer(Math.min(size, blob.size));
    for (let at = 0; at < blob.size; at += size) {
      const length = Math.min(size, blob.size - at);
      for (let filled = 0; filled < length; ) {
        const { value, done } = await reader.read(new Uint8Array(memory, filled, length - filled));
        if (done) throw new RangeError('the blob became shorter');
        memory = value.buffer;
        filled += value.length;
      }
      yield new Uint8Array(memory, 0, length);
    }
  } finally {
    reading.delete(stream);
    reader.releaseLock();
    await stream.cancel();
  }
}
