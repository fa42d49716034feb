/** Rate limits between the processes of a node: the primary keeps the ledger, workers ask. See platform/rate-limit.ts. */
import cluster from 'node:cluster';
import { RateLedger, RateLimiter } from '../rate-limit.ts';

type Message =
  | { pace: 'take'; id: number; who: string; bytes: number; rate: number }
  | { pace: 'wait'; id: number; ms: number };

function isOurs(message: unknown): message is Message {
  return typeof message === 'object' && message !== null && 'pace' in message;
}

/** The primary's side. */
export function paceWorkers(): void {
  const ledger = new RateLedger();
  cluster.on('message', (worker, message: unknown) => {
    if (!isOurs(message) || message.pace !== 'take') return;
    const { id, who, bytes, rate } = message;
    const ms = ledger.take(who, bytes, rate);
    if (worker.isConnected()) worker.send({ pace: 'wait', id, ms } satisfies Message);
  });
}

/** The rate limiter of this process: a worker asks the primary, any other process is alone. */
export function openRateLimiter(): RateLimiter {
  if (!cluster.isWorker) {
    const ledger = new RateLedger();
    return new RateLimiter(async (who, bytes, rate) => ledger.take(who, bytes, rate));
  }
  const waiting = new Map<number, (ms: number) => void>();
  let last = 0;
  process.on('message', (message: unknown) => {
    if (!isOurs(message) || message.pace !== 'wait') return;
    waiting.get(message.id)?.(message.ms);
    waiting.delete(message.id);
  });
  return new RateLimiter(
    (who, bytes, rate) =>
      new Promise((resolve) => {
        const id = ++last;
        waiting.set(id, resolve);
        process.send!({ pace: 'take', id, who, bytes, rate } satisfies Message);
      }),
  );
}
