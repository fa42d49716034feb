import type { Server } from 'node:net';
import type { S3Times } from '../s3/client.ts';
import type { PoolLoad } from '../sql/sql.ts';
import { type Metrics, type Samples, series } from './registry.ts';

export function poolSamples(load: PoolLoad | undefined): Samples {
  if (!load) return {};
  return {
    [series('szafa_database_connections', { state: 'busy' })]: load.total - load.idle,
    [series('szafa_database_connections', { state: 'idle' })]: load.idle,
    szafa_database_waiting: load.waiting,
  };
}

export async function connectionSamples(server: Server): Promise<Samples> {
  const count = await new Promise<number>((resolve) =>
    server.getConnections((_, open) => resolve(open ?? 0)),
  );
  return { szafa_connections: count };
}

const PROBE_MS = 250;

/** Measures how late timers are, which shows how long synchronous work blocks the process. */
export function watchEventLoop(metrics: Metrics): void {
  const observe = metrics.timer('szafa_event_loop_lag_seconds');
  let due = performance.now() + PROBE_MS;
  setInterval(() => {
    const now = performance.now();
    observe(Math.max(0, now - due) / 1000);
    due = now + PROBE_MS;
  }, PROBE_MS).unref();
}

const METHODS = ['GET', 'HEAD', 'PUT', 'POST', 'DELETE'] as const;

/** Records response times and failures of the S3 store. */
export function timesOfS3(metrics: Metrics): S3Times {
  const timers = new Map<string, (seconds: number) => void>(
    METHODS.map((method) => [method, metrics.timer('szafa_s3_request_seconds', { method })]),
  );
  const fail = (method: string, by = 1) => metrics.add('szafa_s3_failures_total', { method }, by);
  for (const method of METHODS) fail(method, 0);
  return {
    answered: (method, status, ms) => {
      timers.get(method)?.(ms / 1000);
      if (status >= 500) fail(method);
    },
    failed: (method) => fail(method),
  };
}
