import { LockedError, type Szafa } from '@szafa/client';

/** Throws if another account has signed in: work of one account must not be done for the next. */
export function requireUser(szafa: Szafa, username: string): void {
  if (szafa.username !== username) throw new LockedError('signed out meanwhile');
}

/** Call it after an await: throws if another account has signed in since. */
export function requireSameAccount(before: Szafa, now: () => Szafa): void {
  if (now() !== before) throw new LockedError('signed out meanwhile');
}
