import type { Body, Sink } from '../platform/volumes/body.ts';

/** A PUT along a volume socket that is not answered yet. */
export class SocketPut implements Body {
  remaining: number;
  taken = 0;
  told = 0;
  toldAt = performance.now();
  sink: Sink | undefined;
  /** Settled when somebody wants the body, or nobody ever will. */
  readonly wanted = Promise.withResolvers<void>();
  readonly #poured = Promise.withResolvers<void>();
  /** Nothing of the body is wanted any more. */
  isOver = false;

  constructor(length: number) {
    this.remaining = length;
    this.#poured.promise.catch(() => undefined /* told to whoever pours */);
  }

  async pour(sink: Sink): Promise<void> {
    if (this.remaining === 0) this.end();
    if (!this.isOver) {
      this.sink = sink;
      this.wanted.resolve();
    }
    await this.#poured.promise;
  }

  /** The body is whole, or need not be. */
  end(room?: Promise<void>): void {
    this.#close();
    this.#poured.resolve(room);
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
