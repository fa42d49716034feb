const SPAN_MS = 2_000;

/**
 * Volumes on their way at once: one, and beside it as many as the line took in the last seconds. What is on its way when
 * an upload stops has to be sent again, so that on a slow line several at once would only mean more to lose.
 */
export class Pace {
  readonly #most: number;
  readonly #now: () => number;
  readonly #waiting: { bytes: number; start(): void }[] = [];
  #running = 0;
  /** Bytes of the volumes on their way. */
  #bytes = 0;
  /** Bytes that moved in this span, and in the one before. */
  #moved = 0;
  #movedBefore = 0;
  #spanEnd: number;

  constructor(most: number, now = () => performance.now()) {
    this.#most = Math.max(1, most);
    this.#now = now;
    this.#spanEnd = now() + SPAN_MS;
  }

  /** In the order of asking. */
  async run<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    await new Promise<void>((start) => {
      this.#waiting.push({ bytes, start });
      this.#admit();
    });
    try {
      return await work();
    } finally {
      this.#running--;
      this.#bytes -= bytes;
      this.#admit();
    }
  }

  moved(bytes: number): void {
    this.#turn();
    this.#moved += bytes;
    this.#admit();
  }

  #admit(): void {
    this.#turn();
    while (this.#waiting.length > 0 && this.#hasMemoryLease()) {
      const { bytes, start } = this.#waiting.shift()!;
      this.#running++;
      this.#bytes += bytes;
      start();
    }
  }

  #hasMemoryLease(): boolean {
    if (this.#running === 0) return true;
    return this.#running < this.#most && this.#bytes <= this.#moved + this.#movedBefore;
  }

  #turn(): void {
    const late = this.#now() - this.#spanEnd;
    if (late < 0) return;
    this.#movedBefore = late < SPAN_MS ? this.#moved : 0;
    this.#moved = 0;
    this.#spanEnd = this.#now() + SPAN_MS;
  }
}
