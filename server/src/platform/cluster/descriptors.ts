import { readFileSync } from 'node:fs';

/** Descriptors that a process needs for its log, the database, IPC and Node itself. */
const OWN = 64;
const LEAST_CONNECTIONS = 16;
/** Memory is a limit as well: each connection may send a head of 16 KiB before it can be refused. */
const MOST_CONNECTIONS = 16_384;

/**
 * How many connections a process may have open. Each may need a second descriptor: for a volume, or a connection to S3 or
 * aria2c.
 */
export function connectionLimit(descriptors: number): number {
  const affordable = Math.max(LEAST_CONNECTIONS, Math.floor(descriptors / 2) - OWN);
  return Math.min(affordable, MOST_CONNECTIONS);
}

/** Reads the limit of open descriptors (RLIMIT_NOFILE), which Node raises to the hard limit. Known only on Linux. */
export function descriptorLimit(): number {
  if (process.platform !== 'linux') return Number.MAX_SAFE_INTEGER;
  const limits = readFileSync('/proc/self/limits', 'utf8');
  const [, soft = ''] = /^Max open files\s+(\d+|unlimited)/m.exec(limits) ?? [];
  return soft === 'unlimited' || soft === '' ? Number.MAX_SAFE_INTEGER : Number(soft);
}
