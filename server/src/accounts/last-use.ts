/**
 * The last use of a thing is recorded at most every sixteenth of its lifetime, or every hour, so that a request does not
 * cost a commit. The recorded time may be that much too old, and expiry allows for it.
 */
const STEPS = 16;
const HOUR_MS = 3_600_000;

export function lastUse(writtenAt: number, now: number, ttl: number): 'fresh' | 'stale' | 'expired' {
  if (writtenAt < expiredBefore(now, ttl)) return 'expired';
  return now - writtenAt > Math.min(ttl / STEPS, HOUR_MS) ? 'stale' : 'fresh';
}

export function expiredBefore(now: number, ttl: number): number {
  return Math.floor(now - ttl - ttl / STEPS);
}
