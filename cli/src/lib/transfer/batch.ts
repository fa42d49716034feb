import { type Exit, exits, Reported } from '../../errors.ts';
import { type Explained, explain, isFatal, PASSING } from '../../explain.ts';
import type { Output } from '../print/output.ts';
import { oneLine, plural } from '../print/text.ts';

/** Problems of one kind that are reported one by one; the rest are counted. */
const MOST_TOLD = 3;

export interface BatchOptions<T> {
  out: Output;
  signal: AbortSignal;
  /** Items at once. */
  parallel: number;
  /** The item in an error message. */
  about: (item: T) => string;
}

/** Failures of several items: each is reported at once, and the command gets its exit code at the end. */
export class Batch {
  readonly #out: Output;
  done = 0;
  failed = 0;
  left = 0;
  /** Items that were stored, but not as they are by now; each was reported. */
  partial = 0;
  #exit: Exit = exits.failed;
  #passing = false;
  /** By their codes: how many there are, and the first. */
  readonly #problems = new Map<string, { count: number; first: Explained; about: string }>();
  /** Something has hit all of them. */
  stopped = false;
  /** That was reported. A command may also stop by itself, before its error is. */
  #toldFatal = false;

  constructor(out: Output) {
    this.#out = out;
  }

  fail(error: unknown, about: string): void {
    const explained = explain(error);
    this.failed++;
    this.#passing ||= PASSING.has(explained.code);
    if (explained.exit !== exits.usage) this.#exit = explained.exit;
    const { code } = explained;
    const problem = this.#problems.get(code) ?? { count: 0, first: explained, about };
    this.#problems.set(code, problem);
    // A script reads each of them.
    if (++problem.count <= MOST_TOLD || this.#out.json) this.#out.error(explained, about);
  }

  #tellRest(): void {
    for (const { count, first, about } of this.#problems.values()) {
      const rest = count - MOST_TOLD;
      if (rest <= 0 || this.#out.json) continue;
      const message = `${plural(rest, 'more item has', 'more items have')} the same problem as ${oneLine(about)} (${first.code}): ${count} in all`;
      this.#out.error({ ...first, message });
    }
  }

  /** Runs the work on all items. What would fail for all of them stops the rest. */
  async run<T>(
    items: Iterable<T>,
    options: BatchOptions<T>,
    work: (item: T) => Promise<void>,
  ): Promise<void> {
    const { signal, parallel, about } = options;
    const queue = items[Symbol.iterator]();
    const lane = async () => {
      for (let next = queue.next(); !next.done; next = queue.next()) {
        if (this.stopped || signal.aborted) {
          this.left++;
          continue;
        }
        try {
          await work(next.value);
          this.done++;
        } catch (error) {
          if (signal.aborted) return;
          // Several were under way when it hit all of them: one line says it.
          if (this.#toldFatal && isFatal(error)) this.failed++;
          else this.fail(error, about(next.value));
          this.#toldFatal ||= isFatal(error);
          this.stopped ||= this.#toldFatal;
        }
      }
    };
    await Promise.all(Array.from({ length: parallel }, lane));
    signal.throwIfAborted();
  }

  /** The exit code of the whole, as an error that was told already. */
  finish(): void {
    if (this.failed === 0 && this.partial > 0) throw new Reported(exits.someFailed);
    if (this.failed === 0) return;
    this.#tellRest();
    const all = this.done + this.failed + this.left;
    if (all === 1) throw new Reported(this.#exit);
    const exit = this.done > 0 ? exits.someFailed : this.#exit;
    const rest = this.left > 0 ? `, ${this.left} not tried` : '';
    const message = `${this.failed} of ${plural(all, 'item')} failed${rest}`;
    const hint = this.#passing
      ? 'run the same command again for the rest'
      : 'see the errors above; running the same command again skips what is done';
    this.#out.error({ code: 'some-failed', message, hint, exit });
    throw new Reported(exit);
  }
}
