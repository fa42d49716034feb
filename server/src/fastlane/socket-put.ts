import type { Body, Sink } from '../platform/volumes/body.ts';

/** An unanswered PUT on a volume socket. */
export class SocketPut implements Body {
  remaining: number;
  taken = 0;
  /** Bytes in the last report to the client. */
  reported = 0;
  reportedAt = performance.now();
  sink: Sink | undefined;
  /** Settles when it is decided whether the body is wanted. */
  readonly wanted = Promise.withResolvers<void>();
  readonly #poured = Promise.withResolvers<void>();
  /** The rest of the body is not wanted. */
  isOver = false;

  constructor(length: number) {
    this.remaining = length;
    this.#poured.promise.catch(() => undefined /* `pour` rejects */);
  }

  async pour(sink: Sink): Promise<void> {
    if (this.remaining === 0) this.end();
    if (!this.isOver) {
      this.sink = sink;
      this.wanted.resolve();
    }
    await this.#poured.promise;
  }

  /** The body is complete, or no longer needed. */
  end(written?: Promise<void>): void {
    this.#close();
    this.#poured.resolve(written);
  }

  fail(error: unknown): void {
    this.#close();
    this.#poured.reject(error);
  }

  #close(): void {
    this.isOver = true;
    this.sink = undefined;
    this.wanted.resolve();
  }
}
