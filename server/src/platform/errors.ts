import { constants } from 'node:os';
import { headers } from '@szafa/protocol';

/** An error that is part of the API: one handler turns it into the response. */
export class ServiceError extends Error {
  override name = 'ServiceError';
  readonly status: number;
  /** Fields beside `error` in the body. */
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
export class DetailError extends ServiceError {
  override name = 'DetailError';
}

/** The token may not do this: 403, in a form that programs can tell from other refusals (RFC 6750). */
export class OutOfScope extends ServiceError {
  override name = 'OutOfScope';
  override readonly headers = { 'www-authenticate': 'Bearer error="insufficient_scope"' };

  constructor(message: string) {
    super(403, message);
  }
}

/** Refused only for now: 429 or 503 with Retry-After. */
export class TryLater extends ServiceError {
  override name = 'TryLater';
  override readonly headers: { 'retry-after': string };

  constructor(status: 429 | 503, message: string, seconds: number) {
    super(status, message);
    this.headers = { 'retry-after': String(Math.max(1, Math.ceil(seconds))) };
  }
}

/** The receiver rejects the volume: 409. */
export class VolumeRejected extends ServiceError {
  override name = 'VolumeRejected';
  readonly reason: 'state' | 'number' | 'size' | 'digest';

  constructor(reason: VolumeRejected['reason'], message: string) {
    super(409, message);
    this.reason = reason;
  }
}

/** A second copy of a file in one directory. Programs can tell it from a copy that failed, which is 409 with the same body. */
export class CloneExists extends ServiceError {
  override name = 'CloneExists';
  override readonly headers = { [headers.conflict]: 'exists' };

  constructor() {
    super(409, 'this directory already has a clone of this file');
  }
}

/** A store that is not on this machine does not answer; the same request may succeed later. */
export class StoreUnavailable extends ServiceError {
  override name = 'StoreUnavailable';
  readonly store: 'database' | 'volumes';

  constructor(store: 'database' | 'volumes', cause: unknown) {
    super(503, store === 'database' ? 'the database does not answer' : 'the volume store does not answer', {
      cause,
    });
    this.store = store;
  }
}

/** Deleted while one of its requests was under way. */
export const accountGone = () => new DetailError(401, 'the account has been deleted');
/** By an operator, who may enable it again; only whoever has shown that it is theirs is told. */
export const accountDisabled = () => new ServiceError(403, 'this account is disabled');
export const notInvited = () =>
  new ServiceError(403, 'this invitation is not valid: it is unknown, was used, or has expired');
export const unknownFile = () => new ServiceError(404, 'no such file');
export const unknownTransfer = () => new ServiceError(404, 'no such transfer');
export const badDirectory = () => new ServiceError(403, 'you have no such directory');
export const unknownDir = () => new ServiceError(404, 'you have no such directory');
export const tooManyDirs = () => new ServiceError(409, 'you have too many directories; delete some of them');
export const takenDir = () => new ServiceError(409, 'you already have a directory with this name');
export const unknownVolume = () => new ServiceError(404, 'no such volume');

/** Errors of the operating system that mean: no space left. Node has no name for EDQUOT, only its number. */
const NO_SPACE = new Set(['ENOSPC', 'EFBIG']);

export function isOsError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && typeof (error as NodeJS.ErrnoException).syscall === 'string';
}

export function isNoSpace(error: unknown): boolean {
  return isOsError(error) && (NO_SPACE.has(error.code ?? '') || error.errno === -constants.errno.EDQUOT);
}
