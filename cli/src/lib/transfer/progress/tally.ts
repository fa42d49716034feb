import { Meter } from './meter.ts';

/** One file on its way. */
export class Track {
  readonly name: string;
  readonly began: number;
  readonly meter: Meter;
  /** Undefined where only its end will tell. */
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

  /** What is told in one go at the beginning was there from an earlier attempt: no rate is made of it. */
  #settle(): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#settling = true;
    queueMicrotask(() => {
      this.#settling = false;
    });
  }

  /** Failed files leave the whole, so that the rest can reach its end. */
  end(succeeded: boolean): void {
    const { total = this.done } = this;
    const left = total - this.done;
    if (succeeded) this.#whole.count(left, left === total);
    else this.#whole.resize(-left);
    this.#whole.finish(this, succeeded);
  }
}

/** How far all files of a command are. */
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

  expect(files: number, bytes: number): void {
    this.files += files;
    this.bytes += bytes;
  }

  resize(bytes: number): void {
    this.bytes += bytes;
  }

  start(name: string, total: number | undefined): Track {
    const track = new Track(this, name, total, this.clock);
    this.tracks.add(track);
    return track;
  }

  count(bytes: number, measured: boolean): void {
    this.bytesDone += bytes;
    if (measured) this.meter.add(bytes);
  }

  finish(track: Track, succeeded: boolean): void {
    this.tracks.delete(track);
    if (succeeded) this.filesDone++;
    else this.files--;
  }

  /** How much it is in all; undefined while there is a file whose end is not in sight. */
  get total(): number | undefined {
    const isOpen = [...this.tracks].some(({ total }) => total === undefined);
    return isOpen ? undefined : this.bytes;
  }

  get secondsLeft(): number {
    const { rate } = this.meter;
    return rate > 0 && this.total !== undefined
      ? (this.bytes - this.bytesDone) / rate
      : Number.POSITIVE_INFINITY;
  }
}
