import type { Output } from '../output.ts';
import { formatBytes, formatDuration, plural } from '../text.ts';
import { drawBars } from './bars.ts';
import { Meter } from './meter.ts';

export type Phase = 'prepare' | 'send' | 'receive';

const DRAW_MS = 100;
const JSON_MS = 1000;
/** Lines in a log: one soon, then now and then. */
const FIRST_LINE_MS = 3000;
const LINE_MS = 10_000;

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
  readonly #whole: Progress;
  #settling = false;
  #settled = false;

  constructor(whole: Progress, name: string, total: number, clock: () => number) {
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

/** All files of a command: bars on a terminal, lines now and then elsewhere. */
export class Progress {
  readonly tracks = new Set<Track>();
  readonly meter: Meter;
  readonly clock: () => number;
  files = 0;
  filesDone = 0;
  bytes = 0;
  bytesDone = 0;
  readonly #out: Output;
  readonly #bars: boolean;
  #timer: NodeJS.Timeout | undefined;
  #drawn = 0;
  #nextLine = 0;

  constructor(out: Output, clock: () => number = performance.now.bind(performance)) {
    this.#out = out;
    this.clock = clock;
    this.meter = new Meter(clock);
    this.#bars = out.terminal && !out.json && !out.quiet;
    if (out.quiet) return;
    this.#nextLine = clock() + (out.json ? 0 : FIRST_LINE_MS);
    this.#timer = setInterval(() => this.#show(), this.#bars ? DRAW_MS : JSON_MS).unref();
    if (this.#bars) {
      out.around = (write) => {
        this.#erase();
        write();
        this.#show();
      };
    }
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

  close(): void {
    clearInterval(this.#timer);
    if (!this.#bars) return;
    this.#erase();
    this.#out.around = (write) => write();
  }

  #erase(): void {
    if (this.#drawn > 0) process.stderr.write(`\x1b[${this.#drawn}A\r\x1b[0J`);
    this.#drawn = 0;
  }

  #show(): void {
    if (this.#bars) {
      const { columns = 80, rows = 24 } = process.stderr;
      const lines = drawBars(this, columns, rows);
      this.#erase();
      process.stderr.write(lines.map((line) => `${line}\n`).join(''));
      this.#drawn = lines.length;
      return;
    }
    if (this.clock() < this.#nextLine) return;
    if (!this.#out.json) this.#nextLine = this.clock() + LINE_MS;
    const percent = this.bytes > 0 ? Math.floor((this.bytesDone / this.bytes) * 100) : 0;
    const left = this.secondsLeft;
    const { rate } = this.meter;
    const sealing = this.bytesDone === 0 && [...this.tracks].some(({ phase }) => phase === 'prepare');
    this.#out.progress(
      {
        files_done: this.filesDone,
        files_total: this.files,
        bytes_done: this.bytesDone,
        bytes_total: this.bytes,
        bytes_per_second: Math.round(rate),
        seconds_left: Number.isFinite(left) ? Math.ceil(left) : null,
        transfers: [...this.tracks].map(({ name, phase, done, total }) => ({ name, phase, done, total })),
      },
      [
        `${this.filesDone} of ${plural(this.files, 'file')}`,
        `${formatBytes(this.bytesDone)} of ${formatBytes(this.bytes)} (${percent} %)`,
        sealing ? 'preparing' : `${formatBytes(Math.round(rate))}/s`,
        `${formatDuration(left)} left`,
      ].join(', '),
    );
  }
}
