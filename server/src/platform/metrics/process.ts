import type { Server } from 'node:net';
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
