import { StoreFull, StoreUnavailable } from '../errors.ts';

/** A refusal by the store, with its status and error code. */
export class S3Error extends Error {
  override name = 'S3Error';
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, what: string) {
    super(`${what}: ${status} ${code}`);
    this.status = status;
    this.code = code;
  }
}

/** An answer that only a complete HTTP client can read: a refusal, or a body of unknown length. */
export class OtherAnswer extends Error {
  override name = 'OtherAnswer';
}

export const broken = (message: string, code = 'ECONNRESET') => Object.assign(new Error(message), { code });
export const silent = () => broken('the store is silent', 'ETIMEDOUT');

export function isTransient(error: unknown): boolean {
  if (error instanceof S3Error) return error.status >= 500 || error.status === 429 || error.status === 408;
  return error instanceof Error && typeof (error as NodeJS.ErrnoException).code === 'string';
}

/** Translates S3 errors into the errors that all volume stores share. */
export function translate(error: unknown): unknown {
  if (error instanceof S3Error && error.code === 'QuotaExceeded')
    return new StoreFull('the store is full', { cause: error });
  return isTransient(error) ? new StoreUnavailable('volumes', error) : error;
}
