import { TryLater } from './api-error.ts';

const RETRY_SECONDS = 2;

/**
 * Counts the bytes of bodies that a process holds in memory. One address gets half of them at most, so that a single client cannot
 * keep all others waiting.
 */
export class BodyMemory {
  readonly #mostBytes: number;
  #bytes = 0;
  readonly #byAddress = new Map<string, number>();

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Counts bytes that have arrived; 503 if they are too many. */
  add(address: string, bytes: number): void {
    const ofAddress = (this.#byAddress.get(address) ?? 0) + bytes;
    if (this.#bytes + bytes > this.#mostBytes || ofAddress > this.#mostBytes / 2)
      throw new TryLater(503, 'too many request bodies at once; try again in a moment', RETRY_SECONDS);
    this.#bytes += bytes;
    this.#byAddress.set(address, ofAddress);
  }

  remove(address: string, bytes: number): void {
    const left = (this.#byAddress.get(address) ?? 0) - bytes;
    this.#bytes -= bytes;
    if (left > 0) this.#byAddress.set(address, left);
    else this.#byAddress.delete(address);
  }
}
