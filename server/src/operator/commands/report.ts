import { BrokenDocument } from '../../platform/volumes/documents.ts';

/** A command cannot be run as it was given. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** Why nothing may be removed. */
export const CONTESTED =
  'the volume store is contested: another database has used it. First run "szafa-server rescue --missing" or "szafa-server adopt"';

/** A document that broke is a problem; any other error ends the command. */
export const reportBroken = (report: Report) => (error: unknown) => {
  if (!(error instanceof BrokenDocument)) throw error;
  report.problem('documents that cannot be read', { why: error.message });
};

const SHOW_MS = 1000;

/** What a command has found and how far it is: lines for a person, or JSON lines for a program. */
export class Report {
  readonly counts: Record<string, number> = {};
  readonly #json: boolean;
  readonly #out: (line: string) => void;
  readonly #progress: (line: string) => void;
  #shownAt = Date.now();
  #problems = 0;
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

  /** What all the work comes to: from now on progress shows the rate and the time that is left. */
  expect(all: { files: number; bytes: number }): void {
    this.#expected = { ...all, since: Date.now() };
  }

  count(what: string, by = 1): void {
    this.counts[what] = (this.counts[what] ?? 0) + by;
    if (Date.now() - this.#shownAt < SHOW_MS) return;
    this.#shownAt = Date.now();
    const pace = this.#pace();
    const words = [...this.#summary(), ...(pace ? [inWords(pace).join(', ')] : [])].join('; ');
    this.#progress(this.#json ? JSON.stringify({ progress: { ...this.counts, ...pace } }) : words);
  }

  /** By files or by bytes, whichever has more left: many small files take as long as a few large ones. */
  #pace(): Record<string, number> | undefined {
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

  /** `mended`: it was a problem and is none any more. */
  problem(what: string, details: Record<string, string | number>, mended = false): void {
    this.count(what);
    if (!mended) this.#problems++;
    this.line({ problem: what, mended, ...details });
  }

  /** Something to know that is neither a result nor a problem. */
  note(text: string): void {
    if (this.#json) this.#out(JSON.stringify({ note: text }));
    else this.#progress(`szafa: ${text}`);
  }

  /** What was asked for cannot be done. */
  refused(why: string): void {
    if (this.#json) this.#out(JSON.stringify({ ok: false, error: why }));
    else this.#progress(`szafa: ${why}`);
  }

  /** The last line; the result is the exit code. */
  end(): number {
    const ok = this.#problems === 0;
    if (this.#json) this.#out(JSON.stringify({ ok, ...this.counts }));
    else this.#out([ok ? 'ok' : `${this.#problems} problems`, ...this.#summary()].join(': '));
    return ok ? 0 : 1;
  }

  line(fact: Record<string, unknown>): void {
    this.#out(this.#json ? JSON.stringify(fact) : inWords(fact).join(', '));
  }

  /** In one text; none where nothing was counted. */
  #summary(): string[] {
    const parts = Object.entries(this.counts).map(([what, count]) => `${count} ${what}`);
    return parts.length === 0 ? [] : [parts.join(', ')];
  }
}

/** What is not so, or not set inside of something, is left out. */
function inWords(fact: object, prefix = ''): string[] {
  return Object.entries(fact).flatMap(([key, value]) => {
    if (value === false || (prefix !== '' && value === null)) return [];
    if (typeof value === 'object' && value !== null) return inWords(value, `${key} `);
    return [`${prefix}${key}: ${value ?? 'none'}`];
  });
}
