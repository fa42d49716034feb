import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from './http/api-error.ts';
import type { Body, Sink } from './volumes/body.ts';

/** Space for arriving bytes; call `end` when they have arrived, or will not. */
export interface Reservation {
  end(): void;
}

const NONE: Reservation = { end: () => undefined };

/** Space for a body that reserves more as its bytes arrive; `body` is to be read in its place. */
export interface BodyReservation extends Reservation {
  body: Body;
}

/** What a sink takes at once, at most; two such pieces may be on their way to the disk. */
const PIECE_BYTES = 1024 * 1024;
/** Reserved before the first byte. */
const FIRST_BYTES = 2 * PIECE_BYTES;
/** The most that is reserved beyond what has arrived. */
const MOST_AHEAD_BYTES = 64 * PIECE_BYTES;
/** When many bodies run out of space at the same moment, each tries once more after a random time: the later ones get what the earlier ones give back. */
const PATIENCE_MS = 1000;

/** Below this a process asks for more, before it needs it. */
const LOW_BYTES = 64 * 1024 * 1024;
/** No more often than this: on a nearly full disk every answer is less than was asked for. */
const REFILL_MS = 100;

interface Dependencies {
  /** Free bytes of the filesystem of the data folder. */
  free: () => number;
  minFreeBytes: number;
  /** Whether volumes lie there; with S3 only pulls land there. */
  holdsVolumes: boolean;
  /** `Lender.lend` for this process: at least so many bytes, or none. `ended`: those lent before that are used up. */
  borrow: (least: number, ended: number) => Promise<number>;
}

/**
 * Keeps free what SZ_MIN_FREE says, also when many bodies come in at once: bytes are reserved before they are read. A body
 * reserves about as much as has arrived of it, so that clients that send nothing hold no space. A process reserves
 * out of what it was lent in large pieces, so that a request waits for no other process.
 */
export class Space {
  readonly #deps: Dependencies;
  #lent = 0;
  #ended = 0;
  #refilledAt = 0;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** Looks whether volumes would fit and reserves nothing: for an init, whose bytes may never come. */
  look(bytes: number): void {
    if (this.#deps.holdsVolumes) this.#requireFree(bytes);
  }

  /** For bytes that this server writes itself. */
  async forVolumes(bytes: number): Promise<Reservation> {
    return this.#deps.holdsVolumes ? this.#reserve(bytes) : NONE;
  }

  /** For bytes that a client sends, or not. Refuses at once what does not fit now. */
  async forBody(bytes: number, body: Body): Promise<BodyReservation> {
    if (!this.#deps.holdsVolumes) return { ...NONE, body };
    if (bytes <= FIRST_BYTES) return { ...(await this.#reserve(bytes)), body };
    this.#requireFree(bytes);
    await this.#take(FIRST_BYTES);
    return this.#growing(bytes, body);
  }

  /** A pull lands first; `copied` of its bytes are in the volume store as well at a time. */
  forLanding(bytes: number, copied: number): Promise<Reservation> {
    return this.#reserve(bytes + (this.#deps.holdsVolumes ? copied : 0));
  }

  /** What this process was lent and does not need for what is under way. */
  giveBack(): number {
    const unused = this.#lent + this.#ended;
    this.#lent = 0;
    this.#ended = 0;
    return unused;
  }

  async #reserve(bytes: number): Promise<Reservation> {
    await this.#take(bytes);
    let ended = false;
    return {
      end: () => {
        if (!ended) this.#ended += bytes;
        ended = true;
      },
    };
  }

  #growing(size: number, body: Body): BodyReservation {
    let reserved = FIRST_BYTES;
    let arrived = 0;
    /** Bytes that show on the disk and so are not reserved any more. */
    let settled = 0;
    let isOver = false;
    const settle = (upTo: number) => {
      this.#ended += upTo - settled;
      settled = upTo;
    };
    const grow = (): Promise<void> | undefined => {
      settle(Math.max(settled, arrived - 2 * PIECE_BYTES));
      const ahead = Math.min(Math.max(arrived, PIECE_BYTES), MOST_AHEAD_BYTES);
      const more = Math.min(size - reserved, ahead);
      if (this.#takeNow(more)) {
        reserved += more;
        return undefined;
      }
      return this.#takePatiently(more).then(() => {
        reserved += more;
        // The client may have gone in the meantime.
        if (isOver) settle(reserved);
      });
    };
    const advance = (sink: Sink, count: number): Promise<void> | undefined => {
      const wait = sink.advance(count);
      arrived += count;
      const more = reserved < size && reserved - arrived < PIECE_BYTES ? grow() : undefined;
      return more ? Promise.all([wait, more]).then(() => undefined) : wait;
    };
    const pour = (sink: Sink) =>
      body.pour({ target: () => sink.target(), advance: (count) => advance(sink, count) });
    const end = () => {
      isOver = true;
      settle(reserved);
    };
    return { body: { pour }, end };
  }

  async #takePatiently(bytes: number): Promise<void> {
    try {
      await this.#take(bytes);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      await sleep(Math.random() * PATIENCE_MS);
      await this.#take(bytes);
    }
  }

  async #take(bytes: number): Promise<void> {
    if (this.#takeNow(bytes)) return;
    this.#requireFree(bytes);
    const lent = await this.#borrow(bytes);
    if (lent < bytes) throw nearlyFull();
    this.#lent += lent - bytes;
    if (this.#lent < LOW_BYTES) this.#refill();
  }

  /** Takes it from what this process was lent, if that is enough. */
  #takeNow(bytes: number): boolean {
    if (this.#lent < bytes || !this.#isFree(bytes)) return false;
    this.#lent -= bytes;
    if (this.#lent < LOW_BYTES) this.#refill();
    return true;
  }

  #refill(): void {
    const now = performance.now();
    if (now - this.#refilledAt < REFILL_MS) return;
    this.#refilledAt = now;
    this.#borrow(0).then(
      (bytes) => {
        this.#lent += bytes;
      },
      () => undefined /* whoever needs it asks again, and is told */,
    );
  }

  #borrow(least: number): Promise<number> {
    const ended = this.#ended;
    this.#ended = 0;
    return this.#deps.borrow(least, ended);
  }

  #requireFree(bytes: number): void {
    if (!this.#isFree(bytes)) throw nearlyFull();
  }

  /** Only this shows what other programs write to the disk. */
  #isFree(bytes: number): boolean {
    return this.#deps.free() - bytes >= this.#deps.minFreeBytes;
  }
}

const nearlyFull = () => new ApiError(507, 'the store is nearly full');
