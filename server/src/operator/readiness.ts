import { ApiError } from '../platform/http/api-error.ts';

/** So old may the answer be. */
const KEPT_MS = 1000;
/** Nobody waits longer for it; the check itself goes on, and until it ends the answer is no. */
const WAIT_MS = 2000;

/**
 * Whether both stores answer. Anybody may ask, as often as they like: one check at a time serves all who wait for it, and its
 * result those who ask in the second after.
 */
export class Readiness {
  readonly #check: () => Promise<unknown>;
  readonly #now: () => number;
  #verdict: Promise<void> | undefined;
  /** Infinite while the check runs. */
  #freshUntil = 0;

  constructor(check: () => Promise<unknown>, now = () => performance.now()) {
    this.#check = check;
    this.#now = now;
  }

  /** Throws 503 where one does not. */
  confirm(): Promise<void> {
    if (!this.#verdict || this.#now() >= this.#freshUntil) this.#verdict = this.#begin();
    return this.#verdict;
  }

  async #begin(): Promise<void> {
    this.#freshUntil = Number.POSITIVE_INFINITY;
    const ended = () => {
      this.#freshUntil = this.#now() + KEPT_MS;
    };
    const check = this.#check();
    check.then(ended, ended);
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new Error(`no answer within ${WAIT_MS} ms`)), WAIT_MS);
    try {
      await Promise.race([check, late.promise]);
    } catch (cause) {
      throw new ApiError(503, 'a store does not answer', { cause });
    } finally {
      clearTimeout(timer);
    }
  }
}
