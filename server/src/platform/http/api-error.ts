/** An error that is part of the API: errors.ts turns it into the response. */
export class ApiError extends Error {
  override name = 'ApiError';
  readonly status: number;
  /** Additional fields of the body besides `error`. */
  readonly extra: Record<string, unknown>;
  readonly headers: Readonly<Record<string, string>> = {};

  constructor(
    status: number,
    message: string,
    options: { cause?: unknown; extra?: Record<string, unknown> } = {},
  ) {
    super(message, { cause: options.cause });
    this.status = status;
    this.extra = options.extra ?? {};
  }
}

/** "Errors from the authentication check (401) and from the file ownership check (403) use {detail}." */
export class DetailError extends ApiError {
  override name = 'DetailError';
}

/** The token's scope does not allow the request: 403 as in RFC 6750, so that programs can tell it from other refusals. */
export class OutOfScope extends ApiError {
  override name = 'OutOfScope';
  override readonly headers = { 'www-authenticate': 'Bearer error="insufficient_scope"' };

  constructor(message: string) {
    super(403, message);
  }
}

/** A temporary refusal: 429 or 503 with Retry-After. */
export class TryLater extends ApiError {
  override name = 'TryLater';
  override readonly headers: { 'retry-after': string };

  constructor(status: 429 | 503, message: string, seconds: number) {
    super(status, message);
    this.headers = { 'retry-after': String(Math.max(1, Math.ceil(seconds))) };
  }
}
