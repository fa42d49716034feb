import { ApiError, DetailError } from '../platform/http/api-error.ts';

/** The account was deleted while one of its requests was running. */
export const accountGone = () => new DetailError(401, 'the account has been deleted');
/** An operator disabled the account. Only callers who have proved that it is theirs get this answer. */
export const accountDisabled = () => new ApiError(403, 'this account is disabled');
/** Another request changed password or keys at the same moment. */
export const accountChanged = () =>
  new ApiError(412, 'the password or the keys of this account have just been changed; try again');
export const notInvited = () =>
  new ApiError(403, 'this invitation is not valid: it is unknown, was used, or has expired');
export const sessionEnded = () => new DetailError(401, 'the token is unknown or has expired; log in again');
export const unknownRecovery = () => new ApiError(401, 'the recovery token is unknown, used or has expired');
export const unusablePasskey = (cause?: unknown) =>
  new ApiError(400, 'this passkey was not just created for this page and account', { cause });
