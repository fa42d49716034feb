/**
 * Keeps SZ_MIN_FREE bytes of the disk free, even when many bodies arrive at once: bytes are reserved before they are read.
 * The primary's `DiskLender` lends space to the processes of a node in large pieces. Each process has a `DiskSpace` that
 * reserves from its loans, so that a request rarely waits for another process.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from './http/api-error.ts';
import type { Body, Sink } from './volumes/body.ts';

const MIB = 1024 * 1024;
/** Size of a loan, unless little space is left. */
const LOAN_BYTES = 256 * MIB;
/** A sink takes at most this much at once; two such pieces may be in flight to the disk. */
const PIECE_BYTES = MIB;
const FIRST_BYTES = 2 * PIECE_BYTES;
/** The most that is reserved beyond the bytes that have arrived. */
const MAX_AHEAD_BYTES = 64 * PIECE_BYTES;
/**
 * Bodies that run out of space at the same moment retry after a random time, so that the later ones get the space that the
 * earlier ones gave up.
 */
const RETRY_MS = 1000;
/**
 * Below this, a process borrows more in advance, but not more often than every REFILL_MS: on a nearly full disk every loan is
 * small.
 */
const LOW_BYTES = 64 * MIB;
const REFILL_MS = 100;

/**
 * Lends the free space of a disk to the processes that write to it. A loan counts until its process reports it as used or
 * returned, or exits. By then the written bytes show on the disk, so no space is lent twice.
 */
export class DiskLender {
  readonly #free: () => number;
  readonly #minFreeBytes: number;
  readonly #recall: () => Promise<void>;
  readonly #loans = new Map<string, number>();
  /** Borrowers waiting for a recall. */
  #waiting = 0;

  /** `recall` resolves when every process has returned the space it does not need. */
  constructor(free: () => number, minFreeBytes: number, recall: () => Promise<void> = async () => undefined) {
    this.#free = free;
    this.#minFreeBytes = minFreeBytes;
    this.#recall = recall;
  }

  /** Lends at least `least` bytes, or 0 if there are not enough. `settled`: bytes of earlier loans that are used up. */
  async lend(process: string, least: number, settled: number): Promise<number> {
    this.settle(process, settled);
    // A refill must not take the space of a process that needs it now.
    if (least === 0 && this.#waiting > 0) return 0;
    if (least > 0 && this.#spare() < least) {
      this.#waiting++;
      await this.#recall().finally(() => this.#waiting--);
    }
    const spare = this.#spare();
    if (spare < least) return 0;
    const share = Math.floor(spare / (4 * Math.max(1, this.#loans.size)));
    const bytes = Math.max(least, Math.min(LOAN_BYTES, share), 0);
    this.#loans.set(process, (this.#loans.get(process) ?? 0) + bytes);
    return bytes;
  }

  /** Records that bytes of a loan were used up or returned. */
  settle(process: string, bytes: number): void {
    this.#loans.set(process, Math.max(0, (this.#loans.get(process) ?? 0) - bytes));
  }

  /** Forgets the loans of a process that has exited. */
  forget(process: string): void {
    this.#loans.delete(process);
  }

  #spare(): number {
    let lent = 0;
    for (const bytes of this.#loans.values()) lent += bytes;
    return this.#free() - this.#minFreeBytes - lent;
  }
}

/** Reserved space. Call `end` when the bytes have been written, or will not be. */
export interface Reservation {
  end(): void;
}

/** Read `body` instead of the original: it reserves more space as bytes arrive. */
export interface BodyReservation extends Reservation {
  body: Body;
}

const NONE: Reservation = { end: () => undefined };

interface Dependencies {
  /** Free bytes of the data folder's filesystem. */
  free: () => number;
  minFreeBytes: number;
  /** Whether volumes are stored on this disk; with S3 only pulls write to it. */
  holdsVolumes: boolean;
  /** `DiskLender.lend` for this process. */
  borrow: (least: number, settled: number) => Promise<number>;
}

export class DiskSpace {
  readonly #deps: Dependencies;
  /** Bytes borrowed but not reserved. */
  #available = 0;
  /** Bytes used up since the last loan. */
  #settled = 0;
  #refilledAt = 0;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** Refuses volumes that do not fit. Reserves nothing, because after init the bytes may never come. */
  requireForVolumes(bytes: number): void {
    if (this.#deps.holdsVolumes) this.#requireFree(bytes);
  }

  /** Reserves space for volumes that the server writes itself. */
  async forVolumes(bytes: number): Promise<Reservation> {
    return this.#deps.holdsVolumes ? this.#reserve(bytes) : NONE;
  }

  /** Reserves space for a body as it arrives, so that idle clients hold none. Refuses at once a body that does not fit now. */
  async forBody(bytes: number, body: Body): Promise<BodyReservation> {
    if (!this.#deps.holdsVolumes) return { ...NONE, body };
    if (bytes <= FIRST_BYTES) return { ...(await this.#reserve(bytes)), body };
    this.#requireFree(bytes);
    await this.#take(FIRST_BYTES);
    return this.#growing(bytes, body);
  }

  /** Reserves space for a pull; `copied` bytes of it at a time are also in the volume store. */
  forLanding(bytes: number, copied: number): Promise<Reservation> {
    return this.#reserve(bytes + (this.#deps.holdsVolumes ? copied : 0));
  }

  /** Gives back the space that this process has borrowed and does not need now. */
  returnUnused(): number {
    const unused = this.#available + this.#settled;
    this.#available = 0;
    this.#settled = 0;
    return unused;
  }

  async #reserve(bytes: number): Promise<Reservation> {
    await this.#take(bytes);
    let ended = false;
    return {
      end: () => {
        if (!ended) this.#settled += bytes;
        ended = true;
      },
    };
  }

  #growing(size: number, body: Body): BodyReservation {
    let reserved = FIRST_BYTES;
    let arrived = 0;
    /** Bytes that already show on the disk and need no reservation. */
    let settled = 0;
    let isOver = false;
    const settle = (upTo: number) => {
      this.#settled += upTo - settled;
      settled = upTo;
    };
    const grow = (): Promise<void> | undefined => {
      settle(Math.max(settled, arrived - 2 * PIECE_BYTES));
      const ahead = Math.min(Math.max(arrived, PIECE_BYTES), MAX_AHEAD_BYTES);
      const more = Math.min(size - reserved, ahead);
      if (this.#takeAvailable(more)) {
        reserved += more;
        return undefined;
      }
      return this.#takeOrRetry(more).then(() => {
        reserved += more;
        // The client may have disconnected while this waited.
        if (isOver) settle(reserved);
      });
    };
    const advance = (sink: Sink, count: number): Promise<void> | undefined => {
      const written = sink.advance(count);
      arrived += count;
      const more = reserved < size && reserved - arrived < PIECE_BYTES ? grow() : undefined;
      return more ? Promise.all([written, more]).then(() => undefined) : written;
    };
    const pour = (sink: Sink) =>
      body.pour({ target: () => sink.target(), advance: (count) => advance(sink, count) });
    const end = () => {
      isOver = true;
      settle(reserved);
    };
    return { body: { pour }, end };
  }

  async #takeOrRetry(bytes: number): Promise<void> {
    try {
      await this.#take(bytes);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      await sleep(Math.random() * RETRY_MS);
      await this.#take(bytes);
    }
  }

  async #take(bytes: number): Promise<void> {
    if (this.#takeAvailable(bytes)) return;
    this.#requireFree(bytes);
    const lent = await this.#borrow(bytes);
    if (lent < bytes) throw nearlyFull();
    this.#available += lent - bytes;
    if (this.#available < LOW_BYTES) this.#refill();
  }

  #takeAvailable(bytes: number): boolean {
    if (this.#available < bytes || !this.#isFree(bytes)) return false;
    this.#available -= bytes;
    if (this.#available < LOW_BYTES) this.#refill();
    return true;
  }

  #refill(): void {
    const now = performance.now();
    if (now - this.#refilledAt < REFILL_MS) return;
    this.#refilledAt = now;
    this.#borrow(0).then(
      (bytes) => {
        this.#available += bytes;
      },
      () => undefined /* a request that needs space borrows again and gets the error */,
    );
  }

  #borrow(least: number): Promise<number> {
    const settled = this.#settled;
    this.#settled = 0;
    return this.#deps.borrow(least, settled);
  }

  #requireFree(bytes: number): void {
    if (!this.#isFree(bytes)) throw nearlyFull();
  }

  /** Asks the filesystem each time, because other programs write to the disk too. */
  #isFree(bytes: number): boolean {
    return this.#deps.free() - bytes >= this.#deps.minFreeBytes;
  }
}

const nearlyFull = () => new ApiError(507, 'the store is nearly full');
