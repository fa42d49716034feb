import { ServiceError } from '../errors.ts';

/** Space for arriving bytes; call `end` when they have arrived, or will not. */
export interface Reservation {
  end(): void;
}

const NONE: Reservation = { end: () => undefined };

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
 * Keeps free what SZ_MIN_FREE says, also when many bodies come in at once: each has its bytes reserved before it is
 * read. A process reserves out of what it was lent in large pieces, so that a request waits for no other process.
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

  async forVolumes(bytes: number): Promise<Reservation> {
    return this.#deps.holdsVolumes ? this.#reserve(bytes) : NONE;
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
    // Only this shows what other programs write to the disk.
    this.#requireFree(bytes);
    if (this.#lent >= bytes) this.#lent -= bytes;
    else {
      const lent = await this.#borrow(bytes);
      if (lent < bytes) throw nearlyFull();
      this.#lent += lent - bytes;
    }
    if (this.#lent < LOW_BYTES) this.#refill();
    let ended = false;
    return {
      end: () => {
        if (!ended) this.#ended += bytes;
        ended = true;
      },
    };
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
    if (this.#deps.free() - bytes < this.#deps.minFreeBytes) throw nearlyFull();
  }
}

const nearlyFull = () => new ServiceError(507, 'the store is nearly full');
