import type { Writable } from 'node:stream';
import type { Sink } from './body.ts';
import type { Segment, SegmentPool } from './segments.ts';

const PLAIN_BYTES = 64 * 1024;

/** The peer that is being sent to went away. */
export class SinkClosed extends Error {
  override name = 'SinkClosed';
}

/** So many bytes on their way to a writable: one segment is filled while the other is sent. `close` it in the end. */
export class Outflow implements Sink {
  /** How many bytes have come in. */
  received = 0;
  readonly #writable: Writable;
  readonly #total: number;
  readonly #pool: SegmentPool;
  readonly #lease: Segment[] | undefined;
  readonly #segments: Uint8Array[];
  readonly #writes: (Promise<void> | undefined)[] = [];
  readonly #gone = Promise.withResolvers<never>();
  readonly #onClose = () => this.#gone.reject(new SinkClosed('the peer is gone'));
  #current = 0;
  #filled = 0;

  constructor(writable: Writable, total: number, pool: SegmentPool) {
    this.#writable = writable;
    this.#total = total;
    this.#pool = pool;
    this.#lease = total > PLAIN_BYTES ? pool.lease() : undefined;
    const own = () => new Uint8Array(Math.min(PLAIN_BYTES, total));
    this.#segments = this.#lease ?? [own(), own()];
    this.#gone.promise.catch(() => undefined /* told to whoever waits for a write */);
    if (writable.destroyed) this.#onClose();
    writable.once('close', this.#onClose);
  }

  target(): Uint8Array {
    return this.#segments[this.#current]!.subarray(this.#filled);
  }

  advance(count: number): Promise<void> | undefined {
    this.#filled += count;
    this.received += count;
    if (this.received > this.#total) throw new Error('more bytes came than were asked for');
    const segment = this.#segments[this.#current]!;
    if (this.#filled < segment.length && this.received < this.#total) return undefined;
    this.#write(this.#current, segment.subarray(0, this.#filled));
    this.#current ^= 1;
    this.#filled = 0;
    return this.#writes[this.#current];
  }

  /** Resolves when the writable has taken all. */
  async finish(): Promise<void> {
    await Promise.all(this.#writes);
  }

  /** The segments are free once the system reads from them no more. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#writes);
    this.#writable.off('close', this.#onClose);
    if (this.#lease) this.#pool.release(this.#lease);
  }

  #write(at: number, bytes: Uint8Array): void {
    const taken = new Promise<void>((resolve, reject) => {
      this.#writable.write(bytes, (error) => {
        if (error) reject(new SinkClosed(`the peer is gone: ${error.message}`, { cause: error }));
        else resolve();
      });
    });
    const written = Promise.race([taken, this.#gone.promise]).then(() => {
      this.#writes[at] = undefined;
    });
    // Awaited before its segment is used again, and at the end; until then it must not count as unhandled.
    written.catch(() => undefined);
    this.#writes[at] = written;
  }
}
