/**
 * Limits how many bytes per second an account sends and receives on one node. One `RateLedger` per node counts what every
 * account has used; each process has a `RateLimiter`, which asks the ledger and delays bodies while they stream.
 */
import { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { TryLater } from './http/api-error.ts';
import type { Body, Sink } from './volumes/body.ts';

/** Bytes that were not used in the last second may be used at once. */
const BURST_MS = 1_000;
/**
 * Requests that would wait longer are refused: a waiting request holds disk space, memory and a descriptor, and does not
 * notice that its client has disconnected. This bounds the waiting requests of an account to a few hundred.
 */
export const MAX_WAIT_MS = 30_000;
const MAX_KEYS = 1_000;
/** Bytes counted in one step: few enough that connections of the same account wait for each other only briefly. */
const MIN_STEP = 16 * 1024;
const MAX_STEP = 1024 * 1024;
const STEPS_PER_SECOND = 8;

/** Tracks until when each key has used up its rate. */
export class RateLedger {
  readonly #usedUntil = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Counts `bytes` against `rate` bytes per second and returns the milliseconds to wait. Counts nothing if the wait exceeds
   * MAX_WAIT_MS.
   */
  take(key: string, bytes: number, rate: number): number {
    const now = this.#now();
    const usedUntil = Math.max(this.#usedUntil.get(key) ?? 0, now - BURST_MS);
    const wait = Math.max(0, usedUntil - now);
    if (wait > MAX_WAIT_MS) return wait;
    this.#usedUntil.set(key, usedUntil + (bytes * 1000) / rate);
    if (this.#usedUntil.size > MAX_KEYS) this.#forgetUnused(now - BURST_MS);
    return wait;
  }

  get size(): number {
    return this.#usedUntil.size;
  }

  #forgetUnused(since: number): void {
    for (const [key, usedUntil] of this.#usedUntil) if (usedUntil < since) this.#usedUntil.delete(key);
  }
}

/** `RateLedger.take`, possibly in another process. */
export type TakeRate = (key: string, bytes: number, rate: number) => Promise<number>;

/** An account with its rates in bytes per second; null means unlimited. */
export interface AccountRates {
  username: string;
  uploadRate: number | null;
  downloadRate: number | null;
}

export class RateLimiter {
  readonly #take: TakeRate;

  constructor(take: TakeRate) {
    this.#take = take;
  }

  limitUpload(body: Body, { username, uploadRate }: AccountRates): Body {
    if (uploadRate === null) return body;
    const step = stepOf(uploadRate);
    const wait = this.#waitFor(`up ${username}`, uploadRate);
    return {
      pour: async (sink) => {
        let uncounted = 0;
        const limited: Sink = {
          target: () => sink.target().subarray(0, step),
          advance: (count) => {
            const written = sink.advance(count);
            uncounted += count;
            if (uncounted < step) return written;
            const turn = wait(uncounted);
            uncounted = 0;
            return Promise.all([written, turn]).then(() => undefined);
          },
        };
        await body.pour(limited);
        // Without this, small bodies would not be counted at all.
        await wait(uncounted);
      },
    };
  }

  /** Returns a stream that writes to `to` at the account's rate. `end` detaches it and leaves `to` open. */
  limitDownload(
    to: Writable,
    { username, downloadRate }: AccountRates,
  ): { writable: Writable; end: () => void } {
    if (downloadRate === null) return { writable: to, end: () => undefined };
    return limitWritable(to, stepOf(downloadRate), this.#waitFor(`down ${username}`, downloadRate));
  }

  /** Waits before a response of this size is sent in one piece. */
  async limitResponse(bytes: number, { username, downloadRate }: AccountRates): Promise<void> {
    if (downloadRate !== null) await this.#waitFor(`down ${username}`, downloadRate)(bytes);
  }

  /**
   * Counts one request. True if there have been more than this many per second for so long that the backlog exceeds
   * MAX_WAIT_MS.
   */
  async isTooFrequent(key: string, requestsPerSecond: number): Promise<boolean> {
    return (await this.#take(key, 1, requestsPerSecond)) > MAX_WAIT_MS;
  }

  #waitFor(key: string, rate: number): Wait {
    return async (bytes, signal) => {
      if (bytes === 0) return;
      const ms = await this.#take(key, bytes, rate);
      if (ms > MAX_WAIT_MS) throw rateExceeded();
      if (ms > 0) await sleep(ms, undefined, signal && { signal });
    };
  }
}

/** Waits until the account may transfer these bytes, or the signal aborts. */
type Wait = (bytes: number, signal?: AbortSignal) => Promise<void>;

const rateExceeded = () =>
  new TryLater(429, 'this account exceeds its transfer rate; use fewer connections', MAX_WAIT_MS / 1000);

const stepOf = (rate: number) => Math.min(MAX_STEP, Math.max(MIN_STEP, Math.floor(rate / STEPS_PER_SECOND)));

function limitWritable(to: Writable, step: number, wait: Wait): { writable: Writable; end: () => void } {
  const closed = new AbortController();
  const send = async (bytes: Buffer) => {
    for (let at = 0; at < bytes.length; at += step) {
      const piece = bytes.subarray(at, at + step);
      await wait(piece.length, closed.signal);
      await new Promise<void>((resolve, reject) => {
        to.write(piece, (error) => (error ? reject(error) : resolve()));
      });
    }
  };
  const writable = new Writable({
    write: (bytes: Buffer, _encoding, done) => void send(bytes).then(() => done(), done),
    // Aborts the wait, which would keep the bytes in memory after the client has disconnected.
    destroy: (error, done) => {
      closed.abort();
      done(error);
    },
  });
  // Writers get the error through their callback; without a listener, the event would end the process.
  writable.on('error', () => undefined);
  const onClose = () => writable.destroy();
  to.once('close', onClose);
  return { writable, end: () => to.off('close', onClose) };
}
