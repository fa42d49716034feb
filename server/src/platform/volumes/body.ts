import type { Readable } from 'node:stream';

/** Consumes the bytes of a body as they arrive. */
export interface Sink {
  /** Memory for the next bytes; never empty. */
  target(): Uint8Array;
  /** Reports `count` bytes written to the target. If it returns a promise, await it before the next `target`. */
  advance(count: number): Promise<void> | undefined;
}

/** The bytes of a volume as they arrive, from any transport. */
export interface Body {
  /** Writes all bytes to the sink, in order. Rejects if the sink fails or the sender disconnects. */
  pour(sink: Sink): Promise<void>;
}

/** The sender disconnected or timed out before the body was complete. */
export class Disconnected extends Error {
  override name = 'Disconnected';
}

/** Turns a stream into a body. A failing sink does not destroy the stream, so that an answer can still be sent. */
export const streamBody = (stream: Readable): Body => ({
  async pour(sink) {
    for await (const chunk of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      const wait = copyInto(chunk, sink);
      if (wait) await wait;
    }
  },
});

/** Copies bytes into a sink; returns a promise if it has to wait for the sink. */
export function copyInto(bytes: Uint8Array, sink: Sink): Promise<void> | undefined {
  for (let from = 0; from < bytes.length; ) {
    const target = sink.target();
    const piece = bytes.subarray(from, from + target.length);
    target.set(piece);
    from += piece.length;
    const wait = sink.advance(piece.length);
    if (wait) return wait.then(() => copyInto(bytes.subarray(from), sink));
  }
  return undefined;
}
