import { type Exit, exits, Reported } from '../../errors.ts';
import { type Explanation, explain, isFatal, isTransient } from '../../explain.ts';
import type { Output } from '../print/output.ts';
import { oneLine, plural } from '../print/text.ts';

/** How many failures with the same code are reported one by one; the rest are only counted. */
const MOST_REPORTED = 3;

/** An item that an error message can name. */
type Item = string | { path: string } | { name: string };

function nameOf(item: Item): string {
  if (typeof item === 'string') return item;
  return 'path' in item ? item.path : item.name;
}

/** Runs work on several items. Reports each failure immediately and sets the exit code in `finish`. */
export class Batch {
  readonly #out: Output;
  readonly #signal: AbortSignal;
  done = 0;
  failed = 0;
  left = 0;
  /** Items that were stored but have changed since. Each was reported as a warning. */
  partial = 0;
  #exit: Exit = exits.failed;
  #isTransient = false;
  /** Failures by error code. */
  readonly #failures = new Map<string, { count: number; first: Explanation; about: string }>();
  /** Skips the remaining items: they would all fail, or the command must not continue after a failure. */
  stopped = false;
  #fatalReported = false;

  constructor(out: Output, signal: AbortSignal) {
    this.#out = out;
    this.#signal = signal;
  }

  fail(error: unknown, about: string): void {
    const explanation = explain(error);
    const { code, exit } = explanation;
    this.failed++;
    this.#isTransient ||= isTransient(error);
    if (exit !== exits.usage) this.#exit = exit;
    const failure = this.#failures.get(code) ?? { count: 0, first: explanation, about };
    this.#failures.set(code, failure);
    // In JSON report every failure: scripts need them all.
    if (++failure.count <= MOST_REPORTED || this.#out.json) this.#out.error(explanation, about);
  }

  #reportRest(): void {
    for (const { count, first, about } of this.#failures.values()) {
      const rest = count - MOST_REPORTED;
      if (rest <= 0 || this.#out.json) continue;
      const message = `${plural(rest, 'more item has', 'more items have')} the same problem as ${oneLine(about)} (${first.code}): ${count} in all`;
      this.#out.error({ ...first, message });
    }
  }

  /** Runs `work` for each item, one at a time by default. Stops at an error that would make every item fail. */
  async each<T extends Item>(
    items: Iterable<T>,
    work: (item: T) => Promise<void>,
    { parallel = 1, about = nameOf }: { parallel?: number; about?: (item: T) => string } = {},
  ): Promise<void> {
    const queue = items[Symbol.iterator]();
    const worker = async () => {
      for (let next = queue.next(); !next.done; next = queue.next()) {
        if (this.stopped || this.#signal.aborted) {
          this.left++;
          continue;
        }
        try {
          await work(next.value);
          this.done++;
        } catch (error) {
          if (this.#signal.aborted) return;
          // Several items may fail for the same fatal reason: report it once.
          if (this.#fatalReported && isFatal(error)) this.failed++;
          else this.fail(error, about(next.value));
          this.#fatalReported ||= isFatal(error);
          this.stopped ||= this.#fatalReported;
        }
      }
    };
    await Promise.all(Array.from({ length: parallel }, worker));
    this.#signal.throwIfAborted();
  }

  /** Reports a summary and throws `Reported` with the exit code if anything failed. */
  finish(): void {
    if (this.failed === 0 && this.partial > 0) throw new Reported(exits.someFailed);
    if (this.failed === 0) return;
    this.#reportRest();
    const all = this.done + this.failed + this.left;
    if (all === 1) throw new Reported(this.#exit);
    const exit = this.done > 0 ? exits.someFailed : this.#exit;
    const rest = this.left > 0 ? `, ${this.left} not tried` : '';
    const message = `${this.failed} of ${plural(all, 'item')} failed${rest}`;
    const hint = this.#isTransient
      ? 'run the same command again for the rest'
      : 'see the errors above; running the same command again skips what is done';
    this.#out.error({ code: 'some-failed', message, hint, exit });
    throw new Reported(exit);
  }
}
