import { ApiError } from '../platform/http/api-error.ts';

/** How long a result is used. */
const KEPT_MS = 1000;
/** A caller waits no longer; until the check itself ends, the answer is no. */
const WAIT_MS = 2000;

/** Whether both stores answer. Anyone may ask, as often as they like: one check at a time serves all of them. */
export class Readiness {
  readonly #check: () => Promise<unknown>;
  readonly #now: () => number;
  #result: Promise<void> | undefined;
  /** Infinite while the check runs. */
  #freshUntil = 0;

  constructor(check: () => Promise<unknown>, now = () => performance.now()) {
    this.#check = check;
    this.#now = now;
  }

  /** Throws 503 if a store does not answer. */
  confirm(): Promise<void> {
    if (!this.#result || this.#now() >= this.#freshUntil) this.#result = this.#start();
    return this.#result;
  }

  async #start(): Promise<void> {
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
