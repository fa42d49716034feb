const SPAN_MS = 2_000;

/**
 * Limits the volumes sent at once to one, plus as many bytes as the connection carried in the last seconds. If an upload stops, volumes
 * in flight must be sent again, so on a slow connection several at once would only lose more.
 */
export class SendWindow {
  readonly #most: number;
  readonly #now: () => number;
  readonly #waiting: { bytes: number; start(): void }[] = [];
  #running = 0;
  /** Bytes of the volumes in flight. */
  #bytes = 0;
  /** Bytes sent in the current span and in the previous one. */
  #moved = 0;
  #movedBefore = 0;
  #spanEnd: number;

  constructor(most: number, now = () => performance.now()) {
    this.#most = Math.max(1, most);
    this.#now = now;
    this.#spanEnd = now() + SPAN_MS;
  }

  /** Runs `work` when the window allows it, in order of calls. */
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
    while (this.#waiting.length > 0 && this.#isOpen()) {
      const { bytes, start } = this.#waiting.shift()!;
      this.#running++;
      this.#bytes += bytes;
      start();
    }
  }

  #isOpen(): boolean {
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
