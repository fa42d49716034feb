/**
 * Standard input, in parts that are good until the next one is asked for. Their memory is freed then: the engine would look for such
 * garbage after another 64 MB of it.
 */
export async function* standardInput(): AsyncGenerator<Uint8Array> {
  for await (const part of process.stdin as AsyncIterable<Buffer<ArrayBuffer>>) {
    yield part;
    const { buffer, byteLength } = part;
    if (buffer.byteLength === byteLength) buffer.transfer(0);
  }
}
