import { ApiError, DetailError } from '../platform/http/api-error.ts';

/** The account was deleted while one of its requests was under way. */
export const accountGone = () => new DetailError(401, 'the account has been deleted');
/** An operator disabled the account. Only callers who have proved that it is theirs get this answer. */
export const accountDisabled = () => new ApiError(403, 'this account is disabled');
export const notInvited = () =>
  new ApiError(403, 'this invitation is not valid: it is unknown, was used, or has expired');
