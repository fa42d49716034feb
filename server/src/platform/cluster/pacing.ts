/** Rates of accounts between the processes of a node: the primary keeps the book, workers ask. See transfers/rate-limit.ts. */
import cluster from 'node:cluster';
import { Pace, RateBook } from '../rate-limit.ts';

type Message =
  | { pace: 'take'; id: number; who: string; bytes: number; rate: number }
  | { pace: 'wait'; id: number; ms: number };

function isOurs(message: unknown): message is Message {
  return typeof message === 'object' && message !== null && 'pace' in message;
}

/** The primary's side. */
export function paceWorkers(): void {
  const book = new RateBook();
  cluster.on('message', (worker, message: unknown) => {
    if (!isOurs(message) || message.pace !== 'take') return;
    const { id, who, bytes, rate } = message;
    const ms = book.take(who, bytes, rate);
    if (worker.isConnected()) worker.send({ pace: 'wait', id, ms } satisfies Message);
  });
}

/** The pace of this process: a worker asks the primary, any other process is alone. */
export function openPace(): Pace {
  if (!cluster.isWorker) {
    const book = new RateBook();
    return new Pace(async (who, bytes, rate) => book.take(who, bytes, rate));
  }
  const waiting = new Map<number, (ms: number) => void>();
  let last = 0;
  process.on('message', (message: unknown) => {
    if (!isOurs(message) || message.pace !== 'wait') return;
    waiting.get(message.id)?.(message.ms);
    waiting.delete(message.id);
  });
  return new Pace(
    (who, bytes, rate) =>
      new Promise((resolve) => {
        const id = ++last;
        waiting.set(id, resolve);
        process.send!({ pace: 'take', id, who, bytes, rate } satisfies Message);
      }),
  );
}
