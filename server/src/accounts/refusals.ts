import { badDirectory, isNoSpace, isOsError, ServiceError, TryLater } from '../platform/errors.ts';
import type { Creation } from '../transfers/transfers-table.ts';

/** When to ask again whether there are fewer unfinished uploads. */
const CROWDED_SECONDS = 30;

export const overQuota = () =>
  new ServiceError(507, 'this would exceed your quota, or your allowance for thumbnails and enc_params');

export const tooManyOpen = () =>
  new TryLater(429, 'you have too many unfinished uploads; complete or cancel some of them', CROWDED_SECONDS);

/** "409 {error} when the receiver rejects the volume": so it does on an OS failure, as complete, delete and clone do. */
export function notTaken(cause: unknown): never {
  if (!isOsError(cause) || isNoSpace(cause)) throw cause;
  throw new ServiceError(409, 'the volume could not be stored; send it again', { cause });
}

/** "409 {error, status: failed} on an OS failure" */
export function notFiled(cause: unknown): never {
  if (!isOsError(cause)) throw cause;
  throw new ServiceError(409, 'the volumes could not be stored as a file; try complete again', {
    cause,
    extra: { status: 'failed' },
  });
}

/** A transfer that was not created. */
export function refuse(why: Creation): never {
  if (why === 'no directory') throw badDirectory();
  if (why === 'over quota') throw overQuota();
  if (why === 'too many') throw tooManyOpen();
  throw new ServiceError(409, 'this transfer id is already in use');
}
