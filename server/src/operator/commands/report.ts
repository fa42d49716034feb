import { BrokenDocument } from '../../platform/volumes/documents.ts';
import { alignTable, type Columns, detailLines, inWords } from './text.ts';

/** The command line or the settings are wrong; the exit code is 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}

export const CONTESTED =
  'the volume store is contested: another database has used it. First run "szafa-server rescue --missing" or "szafa-server adopt"';

/** Turns the errors of `parseArgs` into usage errors. */
export function parseOptions<T>(parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    throw new UsageError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/** Reports a damaged document as a problem; any other error ends the command. */
export const reportBroken = (report: Report) => (error: unknown) => {
  if (!(error instanceof BrokenDocument)) throw error;
  report.problem('documents that cannot be read', { why: error.message });
};

/** Treats a damaged document like a missing one. */
export function ignoreBroken(error: unknown): undefined {
  if (!(error instanceof BrokenDocument)) throw error;
}

const PROGRESS_MS = 1000;
/** Number of rows that are aligned with each other. */
const TABLE_ROWS = 200;

/** The output of a command: text for people, or JSON lines for programs. Progress and notes go to stderr. */
export class Report {
  readonly counts: Record<string, number> = {};
  readonly #json: boolean;
  readonly #out: (line: string) => void;
  readonly #progress: (line: string) => void;
  #shownAt = Date.now();
  #problems = 0;
  #flushTable: () => void = () => undefined;
  #expected: { files: number; bytes: number; since: number } | undefined;

  constructor(
    json: boolean,
    out = (line: string) => void process.stdout.write(`${line}\n`),
    progress = (line: string) => void process.stderr.write(`${line}\n`),
  ) {
    this.#json = json;
    this.#out = out;
    this.#progress = progress;
  }

  get problems(): number {
    return this.#problems;
  }

  /** Sets the total amount of work, so that progress also shows the rate and the time left. */
  expect(all: { files: number; bytes: number }): void {
    this.#expected = { ...all, since: Date.now() };
  }

  count(what: string, by = 1): void {
    this.counts[what] = (this.counts[what] ?? 0) + by;
    if (Date.now() - this.#shownAt < PROGRESS_MS) return;
    this.#shownAt = Date.now();
    const rate = this.#rate();
    const words = [...this.#summary(), ...(rate ? [inWords(rate).join(', ')] : [])].join('; ');
    this.#progress(this.#json ? JSON.stringify({ progress: { ...this.counts, ...rate } }) : words);
  }

  /**
   * Estimates the time left from files or bytes, whichever is further behind: many small files take as long as a few large
   * ones.
   */
  #rate(): Record<string, number> | undefined {
    if (!this.#expected) return undefined;
    const { files, bytes, since } = this.#expected;
    const seconds = Math.max(0.001, (Date.now() - since) / 1000);
    const copied = this.counts['bytes'] ?? 0;
    const done = copied + (this.counts['bytes already there'] ?? 0);
    const shares = [(this.counts['files'] ?? 0) / files, done / bytes].filter(Number.isFinite);
    const share = Math.min(1, ...shares);
    return {
      files_total: files,
      bytes_total: bytes,
      bytes_per_second: Math.round(copied / seconds),
      ...(share > 0 && { seconds_left: Math.ceil((seconds * (1 - share)) / share) }),
    };
  }

  /** Reports a problem. `mended`: it has been fixed, so it does not affect the exit code. */
  problem(what: string, details: Record<string, string | number>, mended = false): void {
    this.count(what);
    if (!mended) this.#problems++;
    this.line({ problem: what, mended, ...details });
  }

  /** Information in addition to the results. */
  note(text: string): void {
    if (this.#json) this.#out(JSON.stringify({ note: text }));
    else this.#progress(`szafa: ${text}`);
  }

  /** Suggests the next step to the operator; not part of the JSON output. */
  hint(text: string): void {
    if (!this.#json) this.#progress(`szafa: ${text}`);
  }

  refused(why: string): void {
    if (this.#json) this.#out(JSON.stringify({ ok: false, error: why }));
    else this.#progress(`szafa: ${why}`);
  }

  /** Writes the last line and returns the exit code. */
  end(): number {
    this.#flushTable();
    const ok = this.#problems === 0;
    if (this.#json) this.#out(JSON.stringify({ ok, ...this.counts }));
    else this.#out([ok ? 'ok' : `${this.#problems} problems`, ...this.#summary()].join(': '));
    return ok ? 0 : 1;
  }

  line(fact: Record<string, unknown>): void {
    this.#out(this.#json ? JSON.stringify(fact) : inWords(fact).join(', '));
  }

  /** Writes one result: as a sentence, or as JSON. */
  result(fact: object, sentence: string): void {
    this.#out(this.#json ? JSON.stringify(fact) : sentence);
  }

  /** Writes all facts about one thing: one line each, or as JSON. */
  details(fact: object): void {
    for (const line of this.#json ? [JSON.stringify(fact)] : detailLines(fact)) this.#out(line);
  }

  /** Begins a table and returns the function that adds a row. */
  table<T extends object>(columns: Columns<T>): (row: T) => void {
    if (this.#json) return (row) => this.#out(JSON.stringify(row));
    let titles = Object.keys(columns);
    let rows: T[] = [];
    this.#flushTable = () => {
      if (rows.length === 0) return;
      const cells = rows.map((row) => Object.values(columns).map((cell) => cell(row)));
      for (const line of alignTable(cells, titles)) this.#out(line);
      [titles, rows] = [[], []];
    };
    return (row) => {
      rows.push(row);
      if (rows.length === TABLE_ROWS) this.#flushTable();
    };
  }

  /** The counts as one string; empty if there are none. */
  #summary(): string[] {
    const parts = Object.entries(this.counts).map(([what, count]) => `${count} ${what}`);
    return parts.length === 0 ? [] : [parts.join(', ')];
  }
}
