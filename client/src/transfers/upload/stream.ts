import { type Bytes, EMPTY } from '@szafa/format';
import { unlessAborted } from '../../pool.ts';
import type { Source } from './source.ts';

/** Bytes of unknown length that can be read once. @public */
export type ByteStream = AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>;

export function isStream(source: Source | ByteStream): source is ByteStream {
  return Symbol.asyncIterator in source || 'getReader' in source;
}

/** Uses the stream's reader if it has one: WebKit, and so Safari, cannot iterate streams. */
function partsOf(stream: ByteStream) {
  if ('getReader' in stream) {
    const reader = stream.getReader();
    return { next: () => reader.read(), stop: () => reader.cancel() };
  }
  const iterator = stream[Symbol.asyncIterator]();
  return { next: () => iterator.next(), stop: async () => iterator.return?.() };
}

/** Splits a stream into parts of given lengths, and reports whether each is the last. */
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
      // Allocate nothing for bytes that may never come.
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

    /** Stops the stream without waiting for it, since its writer may be waiting too. */
    stop(): void {
      if (!ended) parts.stop().catch(() => {});
    },
  };
}
