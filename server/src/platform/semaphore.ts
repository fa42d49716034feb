interface Waiter {
  begin: () => void;
  refuse: (error: Error) => void;
}

/**
 * Runs a few jobs at a time, with fair turns for each address: a client with a thousand requests delays only itself. When too
 * many jobs wait, the last job of the longest queue is rejected with `busyError()`.
 */
export class Semaphore {
  readonly #options: { atOnce: number; mostWaiting: number; busyError: () => Error };
  /** Queues by address, in the order of their turns. */
  readonly #queues = new Map<string, Waiter[]>();
  #running = 0;
  #waiting = 0;

  constructor(atOnce: number, mostWaiting: number, busyError: () => Error) {
    this.#options = { atOnce, mostWaiting, busyError };
  }

  async run<T>(address: string, work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#options.atOnce) this.#running++;
    else await this.#wait(address);
    try {
      return await work();
    } finally {
      this.#startNext();
    }
  }

  #wait(address: string): Promise<void> {
    return new Promise((begin, refuse) => {
      const queue = this.#queues.get(address) ?? [];
      queue.push({ begin, refuse });
      this.#queues.set(address, queue);
      if (++this.#waiting > this.#options.mostWaiting) this.#refuseLast(address);
    });
  }

  /** Rejects the last job of the longest queue. Among equally long queues, that of the newest address loses. */
  #refuseLast(newest: string): void {
    let [address, longest] = [newest, this.#queues.get(newest)!];
    for (const entry of this.#queues) if (entry[1].length > longest.length) [address, longest] = entry;
    const waiter = longest.pop()!;
    if (longest.length === 0) this.#queues.delete(address);
    this.#waiting--;
    waiter.refuse(this.#options.busyError());
  }

  #startNext(): void {
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
