const WINDOW_MS = 8000;
const STEP_MS = 250;

/** Bytes a second over the last seconds. */
export class Meter {
  readonly #clock: () => number;
  #samples: { at: number; bytes: number }[];
  #bytes = 0;

  constructor(clock: () => number = performance.now.bind(performance)) {
    this.#clock = clock;
    this.#samples = [{ at: clock(), bytes: 0 }];
  }

  add(bytes: number): void {
    this.#bytes += bytes;
    const now = this.#clock();
    if (now - this.#samples.at(-1)!.at < STEP_MS) return;
    this.#samples.push({ at: now, bytes: this.#bytes });
    while (this.#samples.length > 2 && now - this.#samples[1]!.at > WINDOW_MS) this.#samples.shift();
  }

  get rate(): number {
    const now = this.#clock();
    const [first] = this.#samples;
    const seconds = (now - first!.at) / 1000;
    return seconds < 0.2 ? 0 : Math.max(0, this.#bytes - first!.bytes) / seconds;
  }
}
