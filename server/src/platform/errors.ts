/** Errors of the two stores. They do not know about HTTP: platform/http/errors.ts turns them into answers. */
import { constants } from 'node:os';

/** A setting is invalid; the server refuses to start with this message. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

/** An operation of a store failed. */
export abstract class StoreError extends Error {}

/** The volume differs from its declaration, or does not fit its transfer. */
export class VolumeRejected extends StoreError {
  override name = 'VolumeRejected';
  readonly reason: 'state' | 'number' | 'size' | 'digest';

  constructor(reason: VolumeRejected['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}

/** The volume group was removed while one of its volumes was arriving. */
export class GroupGone extends StoreError {
  override name = 'GroupGone';
}

/** A remote store does not answer; the same request may succeed later. */
export class StoreUnavailable extends StoreError {
  override name = 'StoreUnavailable';
  readonly store: 'database' | 'volumes';

  constructor(store: 'database' | 'volumes', cause: unknown) {
    super(store === 'database' ? 'the database does not answer' : 'the volume store does not answer', {
      cause,
    });
    this.store = store;
  }
}

/** The volume store has no space left for the server. */
export class StoreFull extends StoreError {
  override name = 'StoreFull';
}

/** System errors that mean "no space left". Node has no name for EDQUOT, only its number. */
const NO_SPACE = new Set(['ENOSPC', 'EFBIG']);

export function isOsError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && typeof (error as NodeJS.ErrnoException).syscall === 'string';
}

export function isNoSpace(error: unknown): boolean {
  return isOsError(error) && (NO_SPACE.has(error.code ?? '') || error.errno === -constants.errno.EDQUOT);
}
