const WINDOW_MS = 8000;
const STEP_MS = 250;

/** Bytes a second over the last seconds. */
export class Meter {
  readonly #clock: () => number;
  /** Empty until the first byte: waiting for the beginning is not slowness. */
  readonly #samples: { at: number; bytes: number }[] = [];
  #bytes = 0;

  constructor(clock: () => number = performance.now.bind(performance)) {
    this.#clock = clock;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
    const now = this.#clock();
    const last = this.#samples.at(-1);
    if (last && now - last.at < STEP_MS) return;
    this.#samples.push({ at: now, bytes: this.#bytes });
    while (this.#samples.length > 2 && now - this.#samples[1]!.at > WINDOW_MS) this.#samples.shift();
  }

  get rate(): number {
    const [first] = this.#samples;
    if (!first) return 0;
    const seconds = (this.#clock() - first.at) / 1000;
    return seconds < 0.2 ? 0 : Math.max(0, this.#bytes - first.bytes) / seconds;
  }
}
