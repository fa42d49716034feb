import { TryLater } from './http/api-error.ts';

const RETRY_SECONDS = 5;

interface Waiter {
  begin: () => void;
  refuse: (error: Error) => void;
}

/**
 * Runs a few jobs at a time, with fair turns for each address: a client with a thousand requests delays only itself. When too
 * many wait, the longest queue loses its last job.
 */
export class Semaphore {
  readonly #atOnce: number;
  readonly #mostWaiting: number;
  /** By address, in the order of their turns. */
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

  /** Prefers the newest address among equals. */
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
