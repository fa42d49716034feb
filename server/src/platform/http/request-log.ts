import { infoLater, type Log, shortened } from '../log/log.ts';
import type { Metrics } from '../metrics/registry.ts';
import type { Params } from './params.ts';

/** A request that has been answered. */
interface Concluded {
  reqId: string;
  method: string;
  route: string;
  status: number;
  ms: number;
  user: string | undefined;
  params: { [name in keyof Params]?: string | undefined };
  /** nginx sends what was asked for. */
  accel?: boolean;
  ip: string;
}

const start = (id: string | undefined) => (id ? shortened(id) : undefined);

/** Counts it, and writes its line, whichever way it came. */
export function conclude({ metrics, log }: { metrics: Metrics; log: Log }, answered: Concluded): void {
  const { reqId, method, route, status, ms, user, params, accel, ip } = answered;
  metrics.request(route, method, status, ms);
  infoLater(log, () => ({
    reqId,
    method,
    route,
    status,
    ms: Math.round(ms * 10) / 10,
    // What is undefined is left out of the line.
    user,
    transfer: start(params.transfer_id),
    file: start(params.file_id),
    share: start(params.share_id),
    request: start(params.request_id),
    volume: params.idx?.slice(0, 16) || undefined,
    accel,
    ip,
  }));
}
