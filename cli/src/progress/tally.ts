import { Meter } from './meter.ts';

export type Phase = 'prepare' | 'send' | 'receive';

/** One file on its way. */
export class Track {
  readonly name: string;
  readonly began: number;
  readonly meter: Meter;
  phase: Phase = 'prepare';
  total: number;
  /** Of this phase. */
  done = 0;
  /** Of the transfer itself: sealing does not count. */
  moved = 0;
  readonly #whole: Tally;
  #settling = false;
  #settled = false;

  constructor(whole: Tally, name: string, total: number, clock: () => number) {
    this.#whole = whole;
    this.name = name;
    this.total = total;
    this.began = clock();
    this.meter = new Meter(clock);
  }

  update(phase: Phase, done: number, total: number = this.total): void {
    this.phase = phase;
    this.done = done;
    this.#whole.resize(total - this.total);
    this.total = total;
    if (phase === 'prepare') return;
    this.#settle();
    const bytes = done - this.moved;
    this.moved = done;
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
    const left = this.total - this.moved;
    if (succeeded) this.#whole.count(left, left === this.total);
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

  start(name: string, total: number): Track {
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

  get secondsLeft(): number {
    const { rate } = this.meter;
    return rate > 0 ? (this.bytes - this.bytesDone) / rate : Number.POSITIVE_INFINITY;
  }
}
