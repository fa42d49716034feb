import { ApiError, NetworkError } from '../errors.ts';

export interface RetryPolicy {
  /** How long to retry, counted from the first failure of a call. */
  forMs: number;
  /** Wait before the second attempt; doubled for each later one. */
  baseMs: number;
  capMs: number;
}

export const defaultRetry: RetryPolicy = { forMs: 120_000, baseMs: 250, capMs: 8_000 };

const PASSING = new Set([408, 429, 500, 502, 503, 504]);
/** Statuses that guarantee that the server has not acted. */
const UNTOUCHED = new Set([429, 503]);
/** A persistent internal error is reported instead of retried. */
const MOST_500 = 3;

function mayRepeat(error: unknown, once: boolean, attempt: number): boolean {
  if (error instanceof NetworkError) return !error.certificate && !(once && error.sent);
  if (!(error instanceof ApiError)) return false;
  if (error.status === 500 && attempt >= MOST_500) return false;
  return (once ? UNTOUCHED : PASSING).has(error.status);
}

export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    if (signal?.aborted) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  });
}

export interface RetryOptions {
  policy: RetryPolicy;
  /** Retry only if the server cannot have acted. */
  once: boolean;
  signal?: AbortSignal | undefined;
  /** Called before each wait. */
  onRetry?: ((error: Error, waitMs: number) => void) | undefined;
}

/**
 * Retries with exponential backoff and equal jitter: each wait is between half of the step and the whole step. A longer Retry-After wins.
 */
export async function withRetry<T>(
  options: RetryOptions,
  attempt: (number: number) => Promise<T>,
): Promise<T> {
  const { policy, once, signal, onRetry } = options;
  let since = 0;
  for (let number = 1; ; number++) {
    try {
      return await attempt(number);
    } catch (error) {
      signal?.throwIfAborted();
      if (!mayRepeat(error, once, number)) throw error;
      since ||= Date.now();
      const most = Math.min(policy.capMs, policy.baseMs * 2 ** (number - 1));
      const asked = error instanceof ApiError ? (error.retryAfter ?? 0) * 1000 : 0;
      const wait = Math.max(asked, most * (0.5 + Math.random() / 2));
      if (Date.now() + wait - since > policy.forMs) throw error;
      onRetry?.(error as Error, wait);
      await sleep(wait, signal);
    }
  }
}
