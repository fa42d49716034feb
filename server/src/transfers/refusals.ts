import { badDirectory, overQuota } from '../files/refusals.ts';
import { GroupGone, isNoSpace, isOsError } from '../platform/errors.ts';
import { ApiError, TryLater } from '../platform/http/api-error.ts';
import type { Creation } from './create-transfer.ts';

const OPEN_RETRY_SECONDS = 30;

export const unknownTransfer = () => new ApiError(404, 'no such transfer');

export const tooManyOpen = () =>
  new TryLater(
    429,
    'you have too many unfinished uploads; complete or cancel some of them',
    OPEN_RETRY_SECONDS,
  );

/** Answers 404 if the transfer was cancelled or expired while a volume arrived. */
export function transferGone(error: unknown): never {
  throw error instanceof GroupGone ? unknownTransfer() : error;
}

/** "409 {error} when the receiver rejects the volume": also on an OS failure, as for complete, delete and clone. */
export function volumeNotStored(cause: unknown): never {
  if (!isOsError(cause) || isNoSpace(cause)) throw cause;
  throw new ApiError(409, 'the volume could not be stored; send it again', { cause });
}

/** "409 {error, status: failed} on an OS failure" */
export function fileNotStored(cause: unknown): never {
  if (!isOsError(cause)) throw cause;
  throw new ApiError(409, 'the volumes could not be stored as a file; try complete again', {
    cause,
    extra: { status: 'failed' },
  });
}

export function refuseCreation(why: Creation): never {
  if (why === 'no directory') throw badDirectory();
  if (why === 'over quota') throw overQuota();
  if (why === 'too many') throw tooManyOpen();
  throw new ApiError(409, 'this transfer id is already in use');
}
