import type { Writable } from 'node:stream';
import type { Sink } from './body.ts';
import type { Segment, SegmentPool } from './segments.ts';

const PLAIN_BYTES = 64 * 1024;

/** The receiving peer disconnected. */
export class SinkClosed extends Error {
  override name = 'SinkClosed';
}

/** Sends a fixed number of bytes to a writable, filling one segment while the other is sent. Always `close` it. */
export class SocketSink implements Sink {
  /** Bytes taken so far. */
  received = 0;
  readonly #writable: Writable;
  readonly #total: number;
  readonly #pool: SegmentPool;
  readonly #lease: Segment[] | undefined;
  readonly #segments: Uint8Array[];
  /** The current write of each segment. A late callback of an earlier write must not be taken for the current one. */
  readonly #sending: (symbol | undefined)[] = [undefined, undefined];
  readonly #onClose = () => {
    this.#sending.fill(undefined);
    this.#fail(new SinkClosed('the peer disconnected'));
  };
  #fault: SinkClosed | undefined;
  /** Resolves when the next segment has been sent. */
  #waiter: PromiseWithResolvers<void> | undefined;
  #current = 0;
  #filled = 0;

  constructor(writable: Writable, total: number, pool: SegmentPool) {
    this.#writable = writable;
    this.#total = total;
    this.#pool = pool;
    this.#lease = pool.lease();
    this.#segments = this.#lease ?? [new Uint8Array(PLAIN_BYTES), new Uint8Array(PLAIN_BYTES)];
    writable.once('close', this.#onClose);
  }

  target(): Uint8Array {
    return this.#segments[this.#current]!.subarray(this.#filled);
  }

  advance(count: number): Promise<void> | undefined {
    this.#filled += count;
    this.received += count;
    if (this.received > this.#total) throw new Error('more bytes than announced');
    const segment = this.#segments[this.#current]!;
    if (this.#filled < segment.length && this.received < this.#total) return undefined;
    if (this.#writable.destroyed) this.#onClose();
    if (this.#fault) throw this.#fault;
    this.#write(this.#current, segment.subarray(0, this.#filled));
    this.#filled = 0;
    if (this.#sending[this.#current]) this.#current ^= 1;
    return this.#sending[this.#current] ? this.#room() : undefined;
  }

  /** Resolves when the writable has taken all bytes. */
  async finish(): Promise<void> {
    await this.#idle();
    if (this.#fault) throw this.#fault;
  }

  /** Releases the segments once the system no longer reads from them. */
  async close(): Promise<void> {
    await this.#idle();
    this.#writable.off('close', this.#onClose);
    if (this.#lease) this.#pool.release(this.#lease);
  }

  #write(at: number, bytes: Uint8Array): void {
    const write = Symbol();
    this.#sending[at] = write;
    this.#writable.write(bytes, (error) => {
      if (this.#sending[at] === write) this.#sending[at] = undefined;
      if (error) this.#fail(new SinkClosed(`the peer disconnected: ${error.message}`, { cause: error }));
      else this.#wake();
    });
    // If the system has copied all bytes, the same segment, still in the CPU cache, can be filled again.
    if (this.#writable.writableLength === 0) this.#sending[at] = undefined;
  }

  async #room(): Promise<void> {
    while (this.#sending[this.#current]) await this.#sent();
    if (this.#fault) throw this.#fault;
  }

  async #idle(): Promise<void> {
    while (this.#sending.some(Boolean)) await this.#sent();
  }

  #sent(): Promise<void> {
    this.#waiter ??= Promise.withResolvers();
    return this.#waiter.promise;
  }

  #fail(fault: SinkClosed): void {
    this.#fault ??= fault;
    this.#wake();
  }

  #wake(): void {
    this.#waiter?.resolve();
    this.#waiter = undefined;
  }
}
