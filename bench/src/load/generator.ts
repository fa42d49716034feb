/**
 * A load process: receives a plan, opens the connections, sends all requests, and returns the times. It is a separate process, so that
 * the cost of the client does not count for a server.
 */
import { Connection } from './connection.ts';
import { LoadError } from './error.ts';
import { patternOf } from './pattern.ts';
import type { LoadRequest } from './request.ts';

export interface Plan {
  port: number;
  connections: number;
  requests: LoadRequest[];
  /** Fails if there is no progress on any connection for this long. */
  stallSeconds: number;
}

export interface Outcome {
  /** Time on the monotonic clock of the machine, so that the results of several load processes can be merged. */
  startNs: number;
  endNs: number;
  latenciesMs: number[];
  cpuSeconds: number;
}

export type Answer = { outcome: Outcome } | { failure: string };

async function run({ port, connections, requests, stallSeconds }: Plan): Promise<Outcome> {
  for (const { body } of requests) if (typeof body === 'number') patternOf(body);
  const open = await Promise.all(Array.from({ length: connections }, () => Connection.open(port)));
  const latenciesMs: number[] = [];
  let next = 0;
  const work = async (connection: Connection) => {
    for (let request = requests[next++]; request; request = requests[next++]) {
      const begun = performance.now();
      await connection.exchange(request);
      latenciesMs.push(performance.now() - begun);
    }
  };
  const stall = Promise.withResolvers<never>();
  let seen = -1;
  const watchdog = setInterval(() => {
    const progress = open.reduce((sum, connection) => sum + connection.progress, 0);
    if (progress === seen) {
      const done = `${latenciesMs.length} of ${requests.length} requests were answered`;
      stall.reject(new LoadError(`nothing moved for ${stallSeconds} s; ${done}`));
    }
    seen = progress;
  }, stallSeconds * 1000);
  try {
    const cpu = process.cpuUsage();
    const startNs = Number(process.hrtime.bigint());
    await Promise.race([Promise.all(open.map(work)), stall.promise]);
    const endNs = Number(process.hrtime.bigint());
    const { user, system } = process.cpuUsage(cpu);
    return { startNs, endNs, latenciesMs, cpuSeconds: (user + system) / 1e6 };
  } finally {
    clearInterval(watchdog);
    for (const connection of open) connection.close();
  }
}

process.on('message', (plan: Plan) => {
  run(plan).then(
    (outcome) => process.send?.({ outcome } satisfies Answer),
    (error: Error) => process.send?.({ failure: error.message } satisfies Answer),
  );
});
