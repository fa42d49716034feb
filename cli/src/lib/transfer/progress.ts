import type { Output } from '../print/output.ts';
import { formatBytes, formatDuration, oneLine, padEnd, plural, shorten } from '../print/text.ts';

const WINDOW_MS = 8000;
const STEP_MS = 250;

/** Measures bytes per second over the last seconds. */
export class Meter {
  readonly #clock: () => number;
  /** Empty until the first byte, so that waiting for it does not lower the rate. */
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

/** Progress of one file. */
export class Track {
  readonly name: string;
  readonly began: number;
  readonly meter: Meter;
  /** Undefined for standard input until its end is reached. */
  total: number | undefined;
  done = 0;
  readonly #whole: Tally;
  /** True while the first report is processed: those bytes are from an earlier attempt and must not count in the rate. */
  #settling = true;

  constructor(whole: Tally, name: string, total: number | undefined) {
    this.#whole = whole;
    this.name = name;
    this.total = total;
    this.began = whole.clock();
    this.meter = new Meter(whole.clock);
  }

  update(done: number, total: number | undefined = this.total): void {
    const bytes = done - this.done;
    this.#whole.resize(total === undefined ? bytes : total - (this.total ?? this.done));
    this.total = total;
    this.done = done;
    this.#whole.count(bytes, !this.#settling);
    if (!this.#settling) this.meter.add(bytes);
    else
      queueMicrotask(() => {
        this.#settling = false;
      });
  }

  /** Subtracts the rest of a failed file from the total, so that the total can still reach 100 %. */
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
    const track = new Track(this, name, total);
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
    try {
      const result = await work(({ done, total }) => track.update(done, total));
      track.end(true);
      return result;
    } catch (error) {
      track.end(false);
      throw error;
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

  /** Total bytes; undefined while standard input is read. */
  get total(): number | undefined {
    const isOpen = [...this.tracks].some(({ total }) => total === undefined);
    return isOpen ? undefined : this.bytes;
  }

  get secondsLeft(): number {
    const { total, meter } = this;
    const { rate } = meter;
    return rate > 0 && total !== undefined ? (total - this.bytesDone) / rate : Number.POSITIVE_INFINITY;
  }
}

const DRAW_MS = 100;
const JSON_MS = 1000;
/** Without a terminal: time until the first progress line, then between lines. */
const FIRST_LINE_MS = 3000;
const LINE_MS = 10_000;
const MOST_TRACKS = 8;
/** A file gets a bar only after this time: a shorter one could not be read. */
const YOUNG_MS = 300;

function bar(part: number, columns: number): string {
  const full = Math.max(0, Math.min(columns, Math.round(part * columns)));
  return `[${'#'.repeat(full)}${'-'.repeat(columns - full)}]`;
}

/** Returns undefined while the total is unknown. */
function fractionOf(done: number, total: number | undefined): number | undefined {
  if (total === undefined) return undefined;
  return total > 0 ? done / total : 0;
}

type Columns = [size: string, rate: string, left: string];

/** Draws one line. Columns have fixed widths, so that they do not jump between updates. */
function line(name: string, part: number | undefined, [size, rate, left]: Columns, columns: number): string {
  const barColumns = columns >= 100 ? 20 : columns >= 64 ? 10 : 0;
  const drawn = barColumns > 0 ? ` ${bar(part ?? 0, barColumns)}` : '';
  const percent =
    part === undefined ? '     ' : `${String(Math.floor(Math.min(1, part) * 100)).padStart(3)} %`;
  const rest = `${drawn} ${percent} ${size.padStart(10)} ${rate.padStart(12)} ${left.padStart(11)}`;
  const nameColumns = Math.max(8, Math.min(48, columns - 1 - rest.length));
  return shorten(`${padEnd(shorten(name, nameColumns), nameColumns)}${rest}`, Math.max(8, columns - 1));
}

const rateText = (rate: number) => (rate > 0 ? `${formatBytes(Math.round(rate))}/s` : '');

function trackLine({ name, done, total, meter }: Track, columns: number): string {
  const { rate } = meter;
  const left = rate > 0 && total !== undefined ? formatDuration((total - done) / rate) : '';
  const cells: Columns = [formatBytes(total ?? done), rateText(rate), left];
  return line(oneLine(name), fractionOf(done, total), cells, columns);
}

/** Draws a bar for each file that has been in transfer for a moment, and one for the total. */
export function drawBars(tally: Tally, columns: number, rows: number): string[] {
  const now = tally.clock();
  const old = [...tally.tracks].filter((track) => now - track.began >= YOUNG_MS);
  const most = Math.max(0, Math.min(MOST_TRACKS, rows - 2));
  const { total = tally.bytesDone, secondsLeft, meter } = tally;
  const left = Number.isFinite(secondsLeft) ? formatDuration(secondsLeft) : '';
  const cells: Columns = [formatBytes(total), rateText(meter.rate), left];
  const part = fractionOf(tally.bytesDone, tally.total);
  const whole = line(`${tally.filesDone} of ${plural(tally.files, 'file')}`, part, cells, columns);
  return [...old.slice(0, most).map((track) => trackLine(track, columns)), whole];
}

/** Shows the progress of a command: bars on a terminal, lines elsewhere. */
export class Progress extends Tally {
  readonly #out: Output;
  readonly #hasBars: boolean;
  #timer: NodeJS.Timeout | undefined;
  #drawn = 0;
  #nextLine = 0;

  constructor(out: Output, clock: () => number = performance.now.bind(performance)) {
    super(clock);
    this.#out = out;
    this.#hasBars = out.terminal && !out.json && !out.quiet;
    if (out.quiet) return;
    this.#nextLine = clock() + (out.json ? 0 : FIRST_LINE_MS);
    this.#timer = setInterval(() => this.#show(), this.#hasBars ? DRAW_MS : JSON_MS).unref();
    if (this.#hasBars) {
      out.around = (write) => {
        this.#erase();
        write();
        this.#show();
      };
    }
  }

  close(): void {
    clearInterval(this.#timer);
    if (!this.#hasBars) return;
    this.#erase();
    this.#out.around = (write) => write();
  }

  #erase(): void {
    if (this.#drawn > 0) process.stderr.write(`\x1b[${this.#drawn}A\r\x1b[0J`);
    this.#drawn = 0;
  }

  #show(): void {
    if (this.#hasBars) {
      const { columns = 80, rows = 24 } = process.stderr;
      const lines = drawBars(this, columns, rows);
      this.#erase();
      process.stderr.write(lines.map((text) => `${text}\n`).join(''));
      this.#drawn = lines.length;
      return;
    }
    if (this.clock() < this.#nextLine) return;
    if (!this.#out.json) this.#nextLine = this.clock() + LINE_MS;
    const { total = null, secondsLeft, bytesDone } = this;
    const { rate } = this.meter;
    const percent = total ? Math.floor((bytesDone / total) * 100) : 0;
    const known = total === null ? '' : ` of ${formatBytes(total)} (${percent} %)`;
    const left = total === null ? '' : `, ${formatDuration(secondsLeft)} left`;
    const files = `${this.filesDone} of ${plural(this.files, 'file')}`;
    this.#out.progress(
      {
        files_done: this.filesDone,
        files_total: this.files,
        bytes_done: bytesDone,
        bytes_total: total,
        bytes_per_second: Math.round(rate),
        seconds_left: Number.isFinite(secondsLeft) ? Math.ceil(secondsLeft) : null,
        transfers: [...this.tracks].map(({ name, done, total = null }) => ({ name, done, total })),
      },
      `${files}, ${formatBytes(bytesDone)}${known}, ${formatBytes(Math.round(rate))}/s${left}`,
    );
  }
}

const FIRST_COUNT_MS = 2000;
const COUNT_MS = 5000;

/** Returns a callback that reports how many files are done, for long work that transfers no content. */
export function countFiles(out: Output, what: string): (done: number, total: number) => void {
  let next = performance.now() + FIRST_COUNT_MS;
  return (done, total) => {
    if (performance.now() < next) return;
    next = performance.now() + COUNT_MS;
    out.progress({ files_done: done, files_total: total }, `${what}: ${done} of ${total} files`);
  };
}
