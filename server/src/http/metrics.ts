import { routes } from '@szafa/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isOsError, StoreUnavailable, VolumeRejected } from '../errors.ts';
import type { Metrics } from '../metrics/registry.ts';
import { urlOf } from './schemas.ts';

const WRITE = new Set([urlOf(routes.writeVolume), urlOf(routes.writeFile)]);

export function countRequest(metrics: Metrics, request: FastifyRequest, reply: FastifyReply): void {
  const route = request.routeOptions.url ?? 'unknown';
  const { statusCode } = reply.raw;
  metrics.request(route, request.method, statusCode, reply.elapsedTime);
  if (WRITE.has(route) && statusCode === 200) countReceived(metrics, request.headers['content-length']);
}

/** A body in chunks has no length that is known here. */
export function countReceived(metrics: Metrics, length: string | number | undefined): void {
  metrics.add('szafa_volume_bytes_total', { direction: 'in' }, Number(length ?? 0));
}

export function countFault(metrics: Metrics, error: unknown): void {
  if (error instanceof VolumeRejected) metrics.add('szafa_volumes_rejected_total', { reason: error.reason });
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (error instanceof StoreUnavailable) metrics.add('szafa_store_errors_total', { store: error.store });
  else if (isOsError(cause)) {
    metrics.add('szafa_store_errors_total', { store: cause.syscall === 'database' ? 'database' : 'volumes' });
  }
}
