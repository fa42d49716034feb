import type { Readable } from 'node:stream';

/** Takes the bytes of a body as they come. */
export interface Sink {
  /** Where the next bytes are to be put; never empty. */
  target(): Uint8Array;
  /** `count` bytes have been put into the target. A promise means: wait for it before asking for the next target. */
  advance(count: number): Promise<void> | undefined;
}

/** The bytes of a volume on their way in, from wherever they come. */
export interface Body {
  /** Puts all bytes into the sink, in order; rejects when the sink does or when the sender breaks off. */
  pour(sink: Sink): Promise<void>;
}

/** The sender went away, or fell silent, before the body was whole. */
export class Disconnected extends Error {
  override name = 'Disconnected';
}

/** A stream as a body; it is left as it is when the sink fails, so that an answer can still be sent. */
export class StreamBody implements Body {
  readonly #stream: Readable;

  constructor(stream: Readable) {
    this.#stream = stream;
  }

  async pour(sink: Sink): Promise<void> {
    for await (const chunk of this.#stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      const wait = copyInto(chunk, sink);
      if (wait) await wait;
    }
  }
}

/** Copies bytes into a sink; a promise where it has to wait for room. */
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
