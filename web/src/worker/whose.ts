import { LockedError, type Szafa } from '@szafa/client';

/** After a wait: what comes for an account that has left is not kept for the next. */
export function requireSame(before: Szafa, now: () => Szafa): void {
  if (now() !== before) throw new LockedError('signed out meanwhile');
}
