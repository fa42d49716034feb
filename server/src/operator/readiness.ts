import { ApiError } from '../platform/http/api-error.ts';

/** How long a result is used. */
const KEPT_MS = 1000;
/** A caller waits no longer; until the check itself ends, the answer is no. */
const WAIT_MS = 2000;

/**
 * Returns the check whether both stores answer, which throws 503. Anyone may ask, as often as they like: one check at a time
 * serves all of them.
 */
export function shareReadiness(check: () => Promise<unknown>, now = () => performance.now()) {
  let result: Promise<void> | undefined;
  /** Infinite while the check runs. */
  let freshUntil = 0;
  const start = async () => {
    freshUntil = Number.POSITIVE_INFINITY;
    const ended = () => {
      freshUntil = now() + KEPT_MS;
    };
    const checking = check();
    checking.then(ended, ended);
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new Error(`no answer within ${WAIT_MS} ms`)), WAIT_MS);
    try {
      await Promise.race([checking, late.promise]);
    } catch (cause) {
      throw new ApiError(503, 'a store does not answer', { cause });
    } finally {
      clearTimeout(timer);
    }
  };
  return (): Promise<void> => {
    if (!result || now() >= freshUntil) result = start();
    return result;
  };
}
