import { shortened } from '../log.ts';
import type { Services } from '../services.ts';
import type { Params } from './params.ts';

/** A request that has been answered. */
interface Concluded {
  reqId: string;
  method: string;
  route: string;
  status: number;
  ms: number;
  user: string | undefined;
  params: Partial<Params>;
  /** nginx sends what was asked for. */
  accel?: boolean;
  ip: string;
}

/** Counts it, and writes its line, whichever way it came. */
export function conclude({ metrics, log }: Pick<Services, 'metrics' | 'log'>, answered: Concluded): void {
  const { reqId, method, route, status, ms, user, params, accel, ip } = answered;
  const { transfer_id, file_id, idx, share_id, request_id } = params;
  metrics.request(route, method, status, ms);
  log.info({
    reqId,
    method,
    route,
    status,
    ms: Math.round(ms * 10) / 10,
    ...(user ? { user } : {}),
    ...(transfer_id ? { transfer: shortened(transfer_id) } : {}),
    ...(file_id ? { file: shortened(file_id) } : {}),
    ...(share_id ? { share: shortened(share_id) } : {}),
    ...(request_id ? { request: shortened(request_id) } : {}),
    ...(idx ? { volume: idx.slice(0, 16) } : {}),
    ...(accel ? { accel } : {}),
    ip,
  });
}
