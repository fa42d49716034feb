import { TryLater } from './http/api-error.ts';

const RETRY_SECONDS = 5;

interface Waiter {
  begin: () => void;
  refuse: (error: Error) => void;
}

/**
 * A few at a time, and one address after the other: a client that comes a thousand times waits for itself, and nobody
 * else waits for it. When too many wait, the address with the longest queue loses the last one in it.
 */
export class Semaphore {
  readonly #atOnce: number;
  readonly #mostWaiting: number;
  /** In the order of their turns. */
  readonly #queues = new Map<string, Waiter[]>();
  #running = 0;
  #waiting = 0;

  constructor(atOnce: number, mostWaiting: number) {
    this.#atOnce = atOnce;
    this.#mostWaiting = mostWaiting;
  }

  async run<T>(address: string, work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#atOnce) this.#running++;
    else await this.#wait(address);
    try {
      return await work();
    } finally {
      this.#next();
    }
  }

  #wait(address: string): Promise<void> {
    return new Promise((begin, refuse) => {
      const queue = this.#queues.get(address) ?? [];
      queue.push({ begin, refuse });
      this.#queues.set(address, queue);
      if (++this.#waiting > this.#mostWaiting) this.#leave(this.#longest(address));
    });
  }

  /** Among equals, the one that came last. */
  #longest(last: string): string {
    let found = last;
    for (const [address, { length }] of this.#queues) {
      if (length > this.#queues.get(found)!.length) found = address;
    }
    return found;
  }

  #leave(address: string): void {
    const queue = this.#queues.get(address)!;
    const waiter = queue.pop()!;
    if (queue.length === 0) this.#queues.delete(address);
    this.#waiting--;
    waiter.refuse(new TryLater(503, 'too many logins at once; try again in a few seconds', RETRY_SECONDS));
  }

  #next(): void {
    const [next] = this.#queues;
    if (!next) {
      this.#running--;
      return;
    }
    const [address, queue] = next;
    const waiter = queue.shift()!;
    this.#queues.delete(address);
    if (queue.length > 0) this.#queues.set(address, queue);
    this.#waiting--;
    waiter.begin();
  }
}
