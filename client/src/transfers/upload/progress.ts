import type { UploadProgress } from './options.ts';

/** Counts bytes that the server has and bytes in flight. Reported numbers never decrease. */
export class ProgressTracker {
  readonly #total: number | undefined;
  readonly #onProgress: ((progress: UploadProgress) => void) | undefined;
  /** Sent bytes of each volume in flight, by volume number. */
  readonly #moving = new Map<number, number>();
  #done = 0;
  #stored = 0;
  #reportedDone = -1;
  #reportedStored = -1;

  constructor(total: number | undefined, onProgress: ((progress: UploadProgress) => void) | undefined) {
    this.#total = total;
    this.#onProgress = onProgress;
  }

  /** Starts an attempt with the bytes that the server already has. */
  begin(stored: number): void {
    this.#moving.clear();
    this.#done = stored;
    this.#stored = stored;
    this.#report();
  }

  /** Counts sent bytes of a volume; a negative number takes them back. A sealed volume is longer than `length`, its part of the file. */
  move(idx: number, bytes: number, length: number): void {
    const before = this.#moving.get(idx) ?? 0;
    this.#moving.set(idx, before + bytes);
    this.#done += Math.min(before + bytes, length) - Math.min(before, length);
    this.#report();
  }

  /** Counts a volume that the server has accepted. */
  arrive(idx: number, length: number): void {
    this.#done += length - Math.min(this.#moving.get(idx) ?? 0, length);
    this.#moving.delete(idx);
    this.#stored += length;
    this.#report();
  }

  #report(): void {
    if (this.#done <= this.#reportedDone && this.#stored <= this.#reportedStored) return;
    this.#reportedDone = Math.max(this.#reportedDone, this.#done);
    this.#reportedStored = Math.max(this.#reportedStored, this.#stored);
    this.#onProgress?.({ done: this.#reportedDone, stored: this.#reportedStored, total: this.#total });
  }
}
