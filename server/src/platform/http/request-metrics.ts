import type { ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { isOsError, StoreUnavailable, VolumeRejected } from '../errors.ts';
import type { Metrics } from '../metrics/registry.ts';

/** Every request counts until its answer has been sent, or its connection is gone. Volumes that are put count by themselves. */
export function countInFlight(app: FastifyInstance, metrics: Metrics): void {
  app.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.config.logsItself) return;
    countUntilClosed(reply.raw, metrics);
  });
}

/** Returns what counts it off before, where another one is to count it. */
export function countUntilClosed(response: ServerResponse, metrics: Metrics): () => void {
  metrics.inFlight++;
  const end = () => metrics.inFlight--;
  response.on('close', end);
  return () => {
    response.off('close', end);
    end();
  };
}

export function countFault(metrics: Metrics, error: unknown): void {
  if (error instanceof VolumeRejected) metrics.add('szafa_volumes_rejected_total', { reason: error.reason });
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (error instanceof StoreUnavailable) metrics.add('szafa_store_errors_total', { store: error.store });
  else if (isOsError(cause)) {
    metrics.add('szafa_store_errors_total', { store: cause.syscall === 'database' ? 'database' : 'volumes' });
  }
}
