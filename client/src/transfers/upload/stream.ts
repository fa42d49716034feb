import { type Bytes, EMPTY } from '@szafa/format';
import type { Source } from './source.ts';

/** Bytes of a length that nobody knows before their end, to be read once. @public */
export type ByteStream = AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>;

export function isStream(source: Source | ByteStream): source is ByteStream {
  return Symbol.asyncIterator in source || 'getReader' in source;
}

interface Parts {
  next(): Promise<{ done?: boolean | undefined; value?: Uint8Array | undefined }>;
  stop(): Promise<unknown> | undefined;
}

/** The streams of WebKit, and so of Safari, cannot be iterated. */
function partsOf(stream: ByteStream): Parts {
  if ('getReader' in stream) {
    const reader = stream.getReader();
    return { next: () => reader.read(), stop: () => reader.cancel() };
  }
  const iterator = stream[Symbol.asyncIterator]();
  return { next: () => iterator.next(), stop: () => iterator.return?.() };
}

/** Cuts a stream: each part is told together with whether anything follows it. */
export class StreamReader {
  readonly #parts: Parts;
  readonly #signal: AbortSignal;
  #rest: Uint8Array = EMPTY;
  #ended = false;

  constructor(stream: ByteStream, signal: AbortSignal) {
    this.#parts = partsOf(stream);
    this.#signal = signal;
  }

  /** So many bytes, in memory of their own; fewer only at the end. */
  async read(length: number): Promise<{ bytes: Bytes; isLast: boolean }> {
    // No memory for what may never come.
    if (!(await this.#more())) return { bytes: EMPTY, isLast: true };
    const bytes = new Uint8Array(length);
    let at = 0;
    while (at < length && (await this.#more())) {
      const piece = this.#rest.subarray(0, length - at);
      bytes.set(piece, at);
      this.#rest = this.#rest.subarray(piece.length);
      at += piece.length;
    }
    const isLast = !(await this.#more());
    return { bytes: at === length ? bytes : bytes.slice(0, at), isLast };
  }

  /** Nothing more is wanted. Whoever writes may be waiting, so nobody waits for it. */
  stop(): void {
    if (!this.#ended) Promise.resolve(this.#parts.stop()).catch(() => {});
  }

  async #more(): Promise<boolean> {
    while (this.#rest.length === 0 && !this.#ended) {
      const { done, value } = await this.#next();
      if (done) this.#ended = true;
      else this.#rest = value!;
    }
    return this.#rest.length > 0;
  }

  #next(): ReturnType<Parts['next']> {
    const signal = this.#signal;
    return new Promise((resolve, reject) => {
      const abort = () => reject(signal.reason);
      if (signal.aborted) return abort();
      signal.addEventListener('abort', abort, { once: true });
      this.#parts
        .next()
        .then(resolve, reject)
        .finally(() => signal.removeEventListener('abort', abort));
    });
  }
}
