import { readFileSync } from 'node:fs';

/** Descriptors that a process uses for itself: its log, the database, the channel to the other processes, files of Node. */
const OWN = 64;
const LEAST_CONNECTIONS = 16;
/** Each may hold a head of 16 KiB before it can be refused. */
const MOST_CONNECTIONS = 16_384;

/**
 * Connections that a process with this many descriptors may have open. Each may need a second descriptor: the file of its volume, a
 * connection to S3 or to the download tool.
 */
export function connectionLimit(descriptors: number): number {
  const affordable = Math.max(LEAST_CONNECTIONS, Math.floor(descriptors / 2) - OWN);
  return Math.min(affordable, MOST_CONNECTIONS);
}

/**
 * Descriptors that this process may have open (RLIMIT_NOFILE); Node has raised it to the hard limit when it started. Only Linux reports
 * it in a file; elsewhere no limit is known.
 */
export function descriptorLimit(): number {
  if (process.platform !== 'linux') return Number.MAX_SAFE_INTEGER;
  const limits = readFileSync('/proc/self/limits', 'utf8');
  const [, soft = ''] = /^Max open files\s+(\d+|unlimited)/m.exec(limits) ?? [];
  return soft === 'unlimited' || soft === '' ? Number.MAX_SAFE_INTEGER : Number(soft);
}
