/** The id, the log line and the counts of a request. */
import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { isOsError, StoreUnavailable, VolumeRejected } from '../errors.ts';
import { infoLater, type Log, shortened } from '../log/log.ts';
import type { Metrics } from '../metrics/registry.ts';
import type { Cidrs } from './addresses.ts';
import type { Params } from './params.ts';

/** The header with the request id, which is also in all log lines of the request. */
export const REQUEST_ID = 'x-request-id';

/** Ids that a proxy may choose: safe in a header and in a log line. */
const ACCEPTED_ID = /^[\w.-]{1,64}$/;

/** Unique across all processes of all nodes. A counter is cheaper than random bytes for each request. */
const prefix = randomBytes(8).toString('hex');
let count = 0;
export const newRequestId = () => `${prefix}-${(++count).toString(36)}`;

export type RequestIds = (given: string | string[] | undefined, remote: string | undefined) => string;

/** Lets only a trusted proxy choose the id: a client could otherwise use the id of another request. */
export function requestIds(trusted: Cidrs): RequestIds {
  return (given, remote) => {
    const isTrusted = typeof given === 'string' && ACCEPTED_ID.test(given) && trusted.contains(remote ?? '');
    return isTrusted ? given : newRequestId();
  };
}

interface AnsweredRequest {
  reqId: string;
  method: string;
  route: string;
  status: number;
  ms: number;
  user: string | undefined;
  params: { [name in keyof Params]?: string | undefined };
  /** Set if nginx sends the bytes. */
  accel?: boolean;
  ip: string;
}

const shorten = (id: string | undefined) => (id ? shortened(id) : undefined);

/** Counts a request and writes its log line, without undefined fields. */
export function logRequest({ metrics, log }: { metrics: Metrics; log: Log }, request: AnsweredRequest): void {
  const { reqId, method, route, status, ms, user, params, accel, ip } = request;
  metrics.request(route, method, status, ms);
  infoLater(log, () => ({
    reqId,
    method,
    route,
    status,
    ms: Math.round(ms * 10) / 10,
    user,
    transfer: shorten(params.transfer_id),
    file: shorten(params.file_id),
    share: shorten(params.share_id),
    request: shorten(params.request_id),
    volume: params.idx?.slice(0, 16) || undefined,
    accel,
    ip,
  }));
}

/** Counts requests in flight, until the answer was sent or the connection closed. Uploads of volumes count themselves. */
export function countInFlight(app: FastifyInstance, metrics: Metrics): void {
  app.addHook('onRequest', async (request, reply) => {
    if (!request.routeOptions.config.logsItself) countUntilClosed(reply.raw, metrics);
  });
}

/** Counts a request until its response closes; the returned function stops counting earlier. */
export function countUntilClosed(response: ServerResponse, metrics: Metrics): () => void {
  metrics.inFlight++;
  const end = () => metrics.inFlight--;
  response.on('close', end);
  return () => {
    response.off('close', end);
    end();
  };
}

/** Counts an error if a store caused it. */
export function countFault(metrics: Metrics, error: unknown): void {
  if (error instanceof VolumeRejected) metrics.add('szafa_volumes_rejected_total', { reason: error.reason });
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (error instanceof StoreUnavailable) metrics.add('szafa_store_errors_total', { store: error.store });
  else if (isOsError(cause)) {
    metrics.add('szafa_store_errors_total', { store: cause.syscall === 'database' ? 'database' : 'volumes' });
  }
}
