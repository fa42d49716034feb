/** Rate limits across the processes of a node: the primary keeps the ledger, workers ask. See rate-limit.ts. */
import cluster from 'node:cluster';
import { RateLedger, RateLimiter } from '../rate-limit.ts';
import { Topic } from './ipc.ts';

const taking = new Topic<Parameters<RateLedger['take']>, number>('rate');

/** The primary's side. */
export function paceWorkers(): void {
  const ledger = new RateLedger();
  taking.answer((bytes) => ledger.take(...bytes));
}

/** The rate limiter of this process: a worker asks the primary, any other process is alone. */
export function openRateLimiter(): RateLimiter {
  if (cluster.isWorker) return new RateLimiter((...bytes) => taking.askPrimary(bytes));
  const ledger = new RateLedger();
  return new RateLimiter(async (...bytes) => ledger.take(...bytes));
}
