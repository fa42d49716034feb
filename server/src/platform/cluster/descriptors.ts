import { readFileSync } from 'node:fs';

/** Descriptors that a process needs for its log, the database, IPC and Node itself. */
const OWN = 64;
const LEAST_CONNECTIONS = 16;
/** Each may hold a head of 16 KiB before it can be refused, so memory is a limit as well. */
const MOST_CONNECTIONS = 16_384;

/** Connections that a process may have open. Each may need a second descriptor: for a volume, or a connection to S3 or aria2c. */
export function connectionLimit(descriptors: number): number {
  const affordable = Math.max(LEAST_CONNECTIONS, Math.floor(descriptors / 2) - OWN);
  return Math.min(affordable, MOST_CONNECTIONS);
}

/** The limit of open descriptors (RLIMIT_NOFILE), which Node raises to the hard limit. Known on Linux only. */
export function descriptorLimit(): number {
  if (process.platform !== 'linux') return Number.MAX_SAFE_INTEGER;
  const limits = readFileSync('/proc/self/limits', 'utf8');
  const [, soft = ''] = /^Max open files\s+(\d+|unlimited)/m.exec(limits) ?? [];
  return soft === 'unlimited' || soft === '' ? Number.MAX_SAFE_INTEGER : Number(soft);
}
