import type { Output } from '../../print/output.ts';
import { formatBytes, formatDuration, plural } from '../../print/text.ts';
import { drawBars } from './bars.ts';
import { Tally } from './tally.ts';

const DRAW_MS = 100;
const JSON_MS = 1000;
/** Lines in a log: one soon, then now and then. */
const FIRST_LINE_MS = 3000;
const LINE_MS = 10_000;

/** All files of a command: bars on a terminal, lines now and then elsewhere. */
export class Progress extends Tally {
  readonly #out: Output;
  readonly #bars: boolean;
  #timer: NodeJS.Timeout | undefined;
  #drawn = 0;
  #nextLine = 0;

  constructor(out: Output, clock: () => number = performance.now.bind(performance)) {
    super(clock);
    this.#out = out;
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
    const { total = null } = this;
    const percent = total ? Math.floor((this.bytesDone / total) * 100) : 0;
    const known = total === null ? '' : ` of ${formatBytes(total)} (${percent} %)`;
    const left = this.secondsLeft;
    const { rate } = this.meter;
    this.#out.progress(
      {
        files_done: this.filesDone,
        files_total: this.files,
        bytes_done: this.bytesDone,
        bytes_total: total,
        bytes_per_second: Math.round(rate),
        seconds_left: Number.isFinite(left) ? Math.ceil(left) : null,
        transfers: [...this.tracks].map(({ name, done, total = null }) => ({ name, done, total })),
      },
      [
        `${this.filesDone} of ${plural(this.files, 'file')}`,
        `${formatBytes(this.bytesDone)}${known}`,
        `${formatBytes(Math.round(rate))}/s`,
        ...(total === null ? [] : [`${formatDuration(left)} left`]),
      ].join(', '),
    );
  }
}
