import { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { TryLater } from './http/api-error.ts';
import type { Body, Sink } from './volumes/body.ts';

/** What was not used of the last second may be used at once. */
const BURST_MS = 1_000;
/**
 * Whoever would wait longer is sent away: one who waits holds space, memory and a file, and nobody notices that the peer has
 * gone. So of one account a few hundred wait at most, however many come.
 */
export const LONGEST_WAIT_MS = 30_000;
const MOST_KEPT = 1_000;
/** So many bytes are paid for at once: few enough that many connections wait for each other only briefly. */
const LEAST_PIECE = 16 * 1024;
const LARGEST_PIECE = 1024 * 1024;
const PIECES_A_SECOND = 8;

/** Until when each account has used its rate up; one for each node. */
export class RateBook {
  readonly #freeAt = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Counts bytes of somebody who may have `rate` of them a second; says for how many milliseconds they have to wait. Where
   * that is more than `LONGEST_WAIT_MS` nothing is counted.
   */
  take(who: string, bytes: number, rate: number): number {
    const now = this.#now();
    const freeAt = Math.max(this.#freeAt.get(who) ?? 0, now - BURST_MS);
    const wait = Math.max(0, freeAt - now);
    if (wait > LONGEST_WAIT_MS) return wait;
    this.#freeAt.set(who, freeAt + (bytes * 1000) / rate);
    if (this.#freeAt.size > MOST_KEPT) this.#forget(now - BURST_MS);
    return wait;
  }

  /** How many are remembered. */
  get size(): number {
    return this.#freeAt.size;
  }

  #forget(before: number): void {
    for (const [who, freeAt] of this.#freeAt) if (freeAt < before) this.#freeAt.delete(who);
  }
}

/** As `RateBook.take`, which may be in another process. */
export type TakeRate = (who: string, bytes: number, rate: number) => Promise<number>;

/** Whose bytes they are, and what of them an operator allows a second; null: as fast as they come. */
export interface Paced {
  username: string;
  uploadRate: number | null;
  downloadRate: number | null;
}

/** Holds bodies back to the rate of their account, while they stream: whoever sends or reads faster waits. */
export class Pace {
  readonly #take: TakeRate;

  constructor(take: TakeRate) {
    this.#take = take;
  }

  /** A body on its way in. */
  upload(body: Body, { username, uploadRate }: Paced): Body {
    if (uploadRate === null) return body;
    const pay = this.#payer(`up ${username}`, uploadRate);
    return {
      pour: async (sink) => {
        const paced = new PacedSink(sink, pieceOf(uploadRate), pay);
        await body.pour(paced);
        // Else many small bodies would cost nothing.
        await pay(paced.unpaid);
      },
    };
  }

  /** Where a volume on its way out is written to instead; `end` leaves the connection as it is. */
  download(to: Writable, { username, downloadRate }: Paced): { writable: Writable; end: () => void } {
    if (downloadRate === null) return { writable: to, end: () => undefined };
    const pay = this.#payer(`down ${username}`, downloadRate);
    const writable = new PacedWritable(to, pieceOf(downloadRate), pay);
    return { writable, end: () => writable.leave() };
  }

  /** Before an answer of so many bytes that leaves at once. */
  async answer(bytes: number, { username, downloadRate }: Paced): Promise<void> {
    if (downloadRate !== null) await this.#payer(`down ${username}`, downloadRate)(bytes);
  }

  /** Whether somebody asks more often than so many times a second: those of the longest wait may come at once. */
  async isTooOften(who: string, timesASecond: number): Promise<boolean> {
    return (await this.#take(who, 1, timesASecond)) > LONGEST_WAIT_MS;
  }

  #payer(who: string, rate: number): Pay {
    return async (bytes, signal) => {
      if (bytes === 0) return;
      const ms = await this.#take(who, bytes, rate);
      if (ms > LONGEST_WAIT_MS) throw tooMuch();
      if (ms > 0) await sleep(ms, undefined, signal && { signal });
    };
  }
}

/** `signal` ends the wait. */
type Pay = (bytes: number, signal?: AbortSignal) => Promise<void>;

const tooMuch = () =>
  new TryLater(
    429,
    'too much at once for the rate of this account; use fewer connections',
    LONGEST_WAIT_MS / 1000,
  );

const pieceOf = (rate: number) =>
  Math.min(LARGEST_PIECE, Math.max(LEAST_PIECE, Math.floor(rate / PIECES_A_SECOND)));

class PacedSink implements Sink {
  readonly #sink: Sink;
  readonly #piece: number;
  readonly #pay: Pay;
  /** Less than a piece. */
  unpaid = 0;

  constructor(sink: Sink, piece: number, pay: Pay) {
    this.#sink = sink;
    this.#piece = piece;
    this.#pay = pay;
  }

  target(): Uint8Array {
    return this.#sink.target().subarray(0, this.#piece);
  }

  advance(count: number): Promise<void> | undefined {
    const wait = this.#sink.advance(count);
    this.unpaid += count;
    if (this.unpaid < this.#piece) return wait;
    const paid = this.#pay(this.unpaid);
    this.unpaid = 0;
    return Promise.all([wait, paid]).then(() => undefined);
  }
}

class PacedWritable extends Writable {
  readonly #to: Writable;
  readonly #piece: number;
  readonly #pay: Pay;
  readonly #onClose = () => this.destroy();
  readonly #gone = new AbortController();

  constructor(to: Writable, piece: number, pay: Pay) {
    super();
    this.#to = to;
    this.#piece = piece;
    this.#pay = pay;
    to.once('close', this.#onClose);
    // Whoever writes is told; nobody else listens.
    this.on('error', () => undefined);
  }

  override _write(bytes: Buffer, _encoding: string, done: (error?: Error) => void): void {
    this.#send(bytes).then(
      () => done(),
      (error: Error) => done(error),
    );
  }

  /** What waits is not kept in memory for a peer that is gone. */
  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#gone.abort();
    done(error);
  }

  leave(): void {
    this.#to.off('close', this.#onClose);
  }

  async #send(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length; at += this.#piece) {
      const piece = bytes.subarray(at, at + this.#piece);
      await this.#pay(piece.length, this.#gone.signal);
      await new Promise<void>((resolve, reject) => {
        this.#to.write(piece, (error) => (error ? reject(error) : resolve()));
      });
    }
  }
}
