import { LockedError, type Szafa } from '@szafa/client';

/** Keeps the work of one account from being done for the next. */
export function requireUser(szafa: Szafa, username: string): void {
  if (szafa.username !== username) throw new LockedError('signed out meanwhile');
}

/** To be called after a wait: throws if another account has signed in since. */
export function requireSameAccount(before: Szafa, now: () => Szafa): void {
  if (now() !== before) throw new LockedError('signed out meanwhile');
}
