import type { UploadProgress } from './options.ts';

/** How far an upload is: what the service has, and what is on its way to it. What was told once is not taken back. */
export class ProgressTracker {
  readonly #total: number | undefined;
  readonly #tell: ((progress: UploadProgress) => void) | undefined;
  /** Bytes of the file on their way, by the number of their volume. */
  readonly #moving = new Map<number, number>();
  #done = 0;
  #stored = 0;
  #told = -1;
  #toldStored = -1;

  constructor(total: number | undefined, tell: ((progress: UploadProgress) => void) | undefined) {
    this.#total = total;
    this.#tell = tell;
  }

  /** An attempt begins, of which the service has so much. */
  begin(stored: number): void {
    this.#moving.clear();
    this.#done = stored;
    this.#stored = stored;
    this.#report();
  }

  /** So many more bytes of a volume have left, or were sent in vain; sealed, it is a little longer than its part of the file. */
  move(idx: number, bytes: number, length: number): void {
    const before = this.#moving.get(idx) ?? 0;
    this.#moving.set(idx, before + bytes);
    this.#done += Math.min(before + bytes, length) - Math.min(before, length);
    this.#report();
  }

  /** The service has the volume. */
  arrive(idx: number, length: number): void {
    this.#done += length - Math.min(this.#moving.get(idx) ?? 0, length);
    this.#moving.delete(idx);
    this.#stored += length;
    this.#report();
  }

  #report(): void {
    if (this.#done <= this.#told && this.#stored <= this.#toldStored) return;
    this.#told = Math.max(this.#told, this.#done);
    this.#toldStored = Math.max(this.#toldStored, this.#stored);
    this.#tell?.({ done: this.#told, stored: this.#toldStored, total: this.#total });
  }
}
