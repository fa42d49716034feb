import { LockedError, type Szafa } from '@szafa/client';

/** What one account has asked for is not done by the next, and leaves nothing there. */
export function requireUser(szafa: Szafa, username: string): void {
  if (szafa.username !== username) throw new LockedError('signed out meanwhile');
}

/** After a wait: what comes for an account that has left is not kept for the next. */
export function requireSameAccount(before: Szafa, now: () => Szafa): void {
  if (now() !== before) throw new LockedError('signed out meanwhile');
}
