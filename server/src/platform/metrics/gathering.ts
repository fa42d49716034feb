import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { Topic } from '../cluster/ipc.ts';
import { ApiError } from '../http/api-error.ts';
import { http } from '../http/node-http.ts';
import { onlyGrows, render, type Samples } from './registry.ts';

/** A process that is too busy to answer in this time counts with its previous answer. */
const GATHER_MS = 2000;
export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

const counting = new Topic<null, Samples>('metrics of a process');
const showing = new Topic<null, string>('metrics of the node');

/**
 * The primary's side: adds up the samples of all processes. The counters of a worker stay when it dies: to Prometheus a sum
 * that falls is a restart, after which all of it counts again.
 */
export class Gatherer {
  readonly #own: () => Promise<Samples>;
  readonly #latest = new Map<Worker, Samples>();
  readonly #ofDead: Samples = {};

  constructor(own: () => Promise<Samples>) {
    this.#own = own;
    showing.answer(() => this.text());
    cluster.on('exit', (worker) => this.#keepCounters(worker));
  }

  async text(): Promise<string> {
    const [own] = await Promise.all([
      this.#own(),
      counting.askWorkers(null, GATHER_MS, (samples, worker) => this.#latest.set(worker, samples)),
    ]);
    return render([own, ...this.#latest.values(), this.#ofDead]);
  }

  /** On a port of its own, without a token. */
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

  #keepCounters(dead: Worker): void {
    for (const [key, value] of Object.entries(this.#latest.get(dead) ?? {})) {
      if (onlyGrows(key)) this.#ofDead[key] = (this.#ofDead[key] ?? 0) + value;
    }
    this.#latest.delete(dead);
  }
}

/** A worker's side: gives its own samples, and returns a function that reads the metrics of the whole node. */
export function shareMetrics(own: () => Promise<Samples>): () => Promise<string> {
  counting.answer(own);
  return () =>
    showing.askPrimary(null, 2 * GATHER_MS).catch(() => {
      throw new ApiError(503, 'the metrics could not be collected');
    });
}
