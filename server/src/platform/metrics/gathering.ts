import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { ApiError } from '../http/api-error.ts';
import { http } from '../http/node-http.ts';
import { onlyGrows, render, type Samples } from './registry.ts';

/** Of a process that is too busy to answer in this time, what it said before counts. */
const GATHER_MS = 2000;

type Message =
  | { metrics: 'count'; id: number }
  | { metrics: 'counted'; id: number; samples: Samples }
  | { metrics: 'show'; id: number }
  | { metrics: 'shown'; id: number; text: string };

function isOurs(message: unknown): message is Message {
  return typeof message === 'object' && message !== null && 'metrics' in message;
}

/**
 * The primary's side: asks every worker, adds its own, and gives the sum to whoever wants it. What a worker had counted when it
 * was last asked stays when it dies: a sum that falls looks like a new start, after which all of it counts once more.
 */
export class Gatherer {
  readonly #own: () => Promise<Samples>;
  readonly #waiting = new Map<number, { worker: Worker; done: () => void }>();
  readonly #latest = new Map<Worker, Samples>();
  readonly #ofDead: Samples = {};
  #last = 0;

  constructor(own: () => Promise<Samples>) {
    this.#own = own;
    cluster.on('message', (worker: Worker, message: unknown) => {
      if (!isOurs(message)) return;
      if (message.metrics === 'counted' && !worker.isDead()) {
        this.#latest.set(worker, message.samples);
        this.#waiting.get(message.id)?.done();
      }
      if (message.metrics === 'show') void this.#answer(worker, message.id);
    });
    cluster.on('exit', (worker) => this.#bury(worker));
  }

  async text(): Promise<string> {
    const workers = Object.values(cluster.workers ?? {}) as Worker[];
    const [own] = await Promise.all([this.#own(), ...workers.map((worker) => this.#ask(worker))]);
    return render([own, ...this.#latest.values(), this.#ofDead]);
  }

  /** On a port of its own, for whoever can reach it; off unless it is configured. */
  async listen(host: string, port: number): Promise<void> {
    const server = http.createServer((_request, response) => {
      this.text().then(
        (text) => response.writeHead(200, { 'content-type': CONTENT_TYPE }).end(text),
        () => response.writeHead(503).end(),
      );
    });
    server.listen(port, host).unref();
    await once(server, 'listening');
  }

  async #answer(worker: Worker, id: number): Promise<void> {
    const text = await this.text().catch(() => '');
    if (worker.isConnected()) worker.send({ metrics: 'shown', id, text } satisfies Message);
  }

  #ask(worker: Worker): Promise<void> {
    const id = ++this.#last;
    return new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(late);
        this.#waiting.delete(id);
        resolve();
      };
      const late = setTimeout(done, GATHER_MS);
      this.#waiting.set(id, { worker, done });
      if (worker.isConnected()) worker.send({ metrics: 'count', id } satisfies Message);
    });
  }

  #bury(dead: Worker): void {
    for (const [key, value] of Object.entries(this.#latest.get(dead) ?? {})) {
      if (onlyGrows(key)) this.#ofDead[key] = (this.#ofDead[key] ?? 0) + value;
    }
    this.#latest.delete(dead);
    for (const { worker, done } of this.#waiting.values()) if (worker === dead) done();
  }
}

export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** A worker's side: gives its own numbers, and can ask for those of the node. */
export class Gathered {
  readonly #waiting = new Map<number, (text: string) => void>();
  #last = 0;

  constructor(own: () => Promise<Samples>) {
    process.on('message', (message: unknown) => {
      if (!isOurs(message)) return;
      if (message.metrics === 'count') {
        const { id } = message;
        void own().then((samples) => process.send?.({ metrics: 'counted', id, samples } satisfies Message));
      }
      if (message.metrics === 'shown') this.#waiting.get(message.id)?.(message.text);
    });
  }

  async text(): Promise<string> {
    const id = ++this.#last;
    const text = await new Promise<string>((resolve) => {
      const late = setTimeout(() => resolve(''), 2 * GATHER_MS);
      this.#waiting.set(id, (shown) => {
        clearTimeout(late);
        resolve(shown);
      });
      process.send?.({ metrics: 'show', id } satisfies Message);
    }).finally(() => this.#waiting.delete(id));
    if (text === '') throw new ApiError(503, 'the metrics could not be collected');
    return text;
  }
}
