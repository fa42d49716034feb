import { ApiError } from '../platform/http/api-error.ts';

/** How long a result is reused. */
const KEPT_MS = 1000;
/** Longest wait of a caller. Until a slower check ends, callers get 503. */
const WAIT_MS = 2000;

/**
 * Returns a function that throws 503 unless both stores answer. Anyone may call the route as often as they like, so
 * concurrent calls share one check.
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
