import { type Bytes, EMPTY } from '@szafa/format';
import { unlessAborted } from '../../pool.ts';
import type { Source } from './source.ts';

/** Bytes of unknown length, which can be read once. @public */
export type ByteStream = AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>;

export function isStream(source: Source | ByteStream): source is ByteStream {
  return Symbol.asyncIterator in source || 'getReader' in source;
}

/** By its reader if there is one: in WebKit, and so in Safari, streams cannot be iterated. */
function partsOf(stream: ByteStream) {
  if ('getReader' in stream) {
    const reader = stream.getReader();
    return { next: () => reader.read(), stop: () => reader.cancel() };
  }
  const iterator = stream[Symbol.asyncIterator]();
  return { next: () => iterator.next(), stop: async () => iterator.return?.() };
}

/** Cuts a stream into parts of given lengths, and tells whether anything follows each. */
export function streamReader(stream: ByteStream, signal: AbortSignal) {
  const parts = partsOf(stream);
  let rest: Uint8Array = EMPTY;
  let ended = false;

  const more = async (): Promise<boolean> => {
    while (rest.length === 0 && !ended) {
      signal.throwIfAborted();
      const { done, value } = await unlessAborted<IteratorResult<Uint8Array, unknown>>(parts.next(), signal);
      if (done) ended = true;
      else rest = value;
    }
    return rest.length > 0;
  };

  return {
    /** Reads `length` bytes into new memory; fewer only at the end. */
    async read(length: number): Promise<{ bytes: Bytes; isLast: boolean }> {
      // Without memory for bytes that may never come.
      if (!(await more())) return { bytes: EMPTY, isLast: true };
      const bytes = new Uint8Array(length);
      let at = 0;
      while (at < length && (await more())) {
        const piece = rest.subarray(0, length - at);
        bytes.set(piece, at);
        rest = rest.subarray(piece.length);
        at += piece.length;
      }
      const isLast = !(await more());
      return { bytes: at === length ? bytes : bytes.slice(0, at), isLast };
    },

    /** Ends the stream. Does not wait for it, since its writer may be waiting too. */
    stop(): void {
      if (!ended) parts.stop().catch(() => {});
    },
  };
}
