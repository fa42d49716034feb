import type { Bench } from '../bench.ts';
import { Szafa } from '../peers/szafa.ts';
import type { SmallResult } from '../results.ts';
import { median, quantile } from '../stats.ts';

const CONNECTIONS = 8;

/** Measures requests with almost no content, which show the cost of a request itself. */
export async function measureSmall(bench: Bench): Promise<SmallResult[]> {
  const count = bench.quick ? 400 : 8000;
  const szafa = await Szafa.start(`${bench.folder}/small`);
  try {
    const kinds = [
      { request: 'GET /api/auth/me', route: 'me' as const, runs: [] as Omit<SmallResult, 'request'>[] },
      { request: 'GET /api/quota', route: 'quota' as const, runs: [] as Omit<SmallResult, 'request'>[] },
    ];
    // The first round only warms up.
    for (let round = 0; round <= bench.rounds; round++) {
      for (const { request, route, runs } of kinds) {
        const requests = Array.from({ length: count }, () => szafa.request(route));
        const { seconds, latenciesMs } = await bench.pool.run(szafa.port, CONNECTIONS, requests);
        if (round === 0) continue;
        runs.push({
          connections: CONNECTIONS,
          perSecond: count / seconds,
          p50Ms: quantile(latenciesMs, 0.5),
          p99Ms: quantile(latenciesMs, 0.99),
        });
        bench.log(`small round ${round} ${request}: ${(count / seconds).toFixed(0)} a second`);
      }
    }
    return kinds.map(({ request, runs }) => ({
      request,
      connections: CONNECTIONS,
      perSecond: median(runs.map((run) => run.perSecond)),
      p50Ms: median(runs.map((run) => run.p50Ms)),
      p99Ms: median(runs.map((run) => run.p99Ms)),
    }));
  } finally {
    await szafa.daemon.stop();
  }
}
