/**
 * The last use of a thing is recorded at most every sixteenth of its lifetime, so that a request does not
 * cost a commit. The recorded time may be that much too old, and expiry allows for it.
 */
const STEPS = 16;

export function lastUse(writtenAt: number, now: number, ttl: number): 'fresh' | 'stale' | 'expired' {
  if (writtenAt < expiredBefore(now, ttl)) return 'expired';
  return now - writtenAt > ttl / STEPS ? 'stale' : 'fresh';
}

export function expiredBefore(now: number, ttl: number): number {
  return Math.floor(now - ttl - ttl / STEPS);
}
