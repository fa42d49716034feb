const WINDOW_MS = 8000;
const STEP_MS = 250;

/** Bytes per second over the last seconds. */
export class Meter {
  readonly #clock: () => number;
  /** Empty until the first byte: waiting for it does not count as slow. */
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

/** One file in transfer. */
export class Track {
  readonly name: string;
  readonly began: number;
  readonly meter: Meter;
  /** Undefined until the end of standard input. */
  total: number | undefined;
  done = 0;
  readonly #whole: Tally;
  #settling = false;
  #settled = false;

  constructor(whole: Tally, name: string, total: number | undefined, clock: () => number) {
    this.#whole = whole;
    this.name = name;
    this.total = total;
    this.began = clock();
    this.meter = new Meter(clock);
  }

  update(done: number, total: number | undefined = this.total): void {
    const bytes = done - this.done;
    this.#whole.resize(total === undefined ? bytes : total - (this.total ?? this.done));
    this.total = total;
    this.done = done;
    this.#settle();
    this.#whole.count(bytes, !this.#settling);
    if (!this.#settling) this.meter.add(bytes);
  }

  /** Bytes reported at once at the beginning are from an earlier attempt, and do not count for the rate. */
  #settle(): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#settling = true;
    queueMicrotask(() => {
      this.#settling = false;
    });
  }

  /** Takes the rest of a failed file off the total, so that the others can reach it. */
  end(succeeded: boolean): void {
    const { total = this.done } = this;
    const left = total - this.done;
    if (succeeded) this.#whole.count(left, left === total);
    else this.#whole.resize(-left);
    this.#whole.finish(this, succeeded);
  }
}

/** Counts the files and bytes of a command. */
export class Tally {
  readonly tracks = new Set<Track>();
  readonly meter: Meter;
  readonly clock: () => number;
  files = 0;
  filesDone = 0;
  bytes = 0;
  bytesDone = 0;

  constructor(clock: () => number) {
    this.clock = clock;
    this.meter = new Meter(clock);
  }

  expect(files: readonly { size: number }[]): void {
    this.files += files.length;
    for (const { size } of files) this.bytes += size;
  }

  resize(bytes: number): void {
    this.bytes += bytes;
  }

  start(name: string, total: number | undefined): Track {
    const track = new Track(this, name, total, this.clock);
    this.tracks.add(track);
    return track;
  }

  /** Tracks one file while the work runs. */
  async track<T>(
    name: string,
    total: number | undefined,
    work: (update: (progress: { done: number; total?: number | undefined }) => void) => Promise<T>,
  ): Promise<T> {
    const track = this.start(name, total);
    let succeeded = false;
    try {
      const result = await work(({ done, total }) => track.update(done, total));
      succeeded = true;
      return result;
    } finally {
      track.end(succeeded);
    }
  }

  count(bytes: number, isMeasured: boolean): void {
    this.bytesDone += bytes;
    if (isMeasured) this.meter.add(bytes);
  }

  finish(track: Track, succeeded: boolean): void {
    this.tracks.delete(track);
    if (succeeded) this.filesDone++;
    else this.files--;
  }

  /** Bytes in all; undefined while standard input is read. */
  get total(): number | undefined {
    const isOpen = [...this.tracks].some(({ total }) => total === undefined);
    return isOpen ? undefined : this.bytes;
  }

  get secondsLeft(): number {
    const { rate } = this.meter;
    const { total } = this;
    return rate > 0 && total !== undefined ? (total - this.bytesDone) / rate : Number.POSITIVE_INFINITY;
  }
}
