import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { Topic } from '../cluster/ipc.ts';
import { ApiError } from '../http/api-error.ts';
import { http } from '../http/node-http.ts';
import { onlyGrows, render, type Samples } from './registry.ts';

/** A process too busy to answer in this time is represented by its previous answer. */
const GATHER_MS = 2000;
export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

const counting = new Topic<null, Samples>('metrics of a process');
const showing = new Topic<null, string>('metrics of the node');

/**
 * The primary's side: sums the samples of all processes. The counters of a dead worker are kept: Prometheus takes a falling
 * sum for a restart and would count all of it again. Returns a function that reads the metrics of the node.
 */
export function gatherMetrics(own: () => Promise<Samples>): () => Promise<string> {
  const latest = new Map<Worker, Samples>();
  const ofDead: Samples = {};
  const read = async () => {
    const asked = counting.askWorkers(null, GATHER_MS, (samples, worker) => latest.set(worker, samples));
    const [samples] = await Promise.all([own(), asked]);
    return render([samples, ...latest.values(), ofDead]);
  };
  showing.answer(read);
  cluster.on('exit', (dead) => {
    for (const [key, value] of Object.entries(latest.get(dead) ?? {})) {
      if (onlyGrows(key)) ofDead[key] = (ofDead[key] ?? 0) + value;
    }
    latest.delete(dead);
  });
  return read;
}

/** Serves the metrics on a port of their own, without a token. */
export async function serveMetrics(read: () => Promise<string>, host: string, port: number): Promise<void> {
  const server = http.createServer((_request, response) => {
    read().then(
      (text) => response.writeHead(200, { 'content-type': CONTENT_TYPE }).end(text),
      () => response.writeHead(503).end(),
    );
  });
  server.listen(port, host).unref();
  await once(server, 'listening');
}

/** A worker's side: provides its own samples, and returns a function that reads the metrics of the whole node. */
export function shareMetrics(own: () => Promise<Samples>): () => Promise<string> {
  counting.answer(own);
  return () =>
    showing.askPrimary(null, 2 * GATHER_MS).catch(() => {
      throw new ApiError(503, 'the metrics could not be collected');
    });
}
