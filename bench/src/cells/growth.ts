import { join } from 'node:path';
import type { Bench } from '../bench.ts';
import type { LoadRequest } from '../load/request.ts';
import { Szafa } from '../peers/szafa.ts';
import type { GrowthResult } from '../results.ts';
import { median, quantile } from '../stats.ts';
import { fillByApi, fillDatabase } from './fill.ts';

const OWNER = 'bench';
/** Larger numbers of files are written directly to the database, because uploads would take too long. */
const MOST_BY_API = 1000;
const PAGE = 100;

const questions = ['list', 'page', 'quota', 'me'] as const;
type Question = (typeof questions)[number];

interface Store {
  files: number;
  szafa: Szafa;
  times: Record<Question, number[]>;
}

/** Measures list, quota and authentication with few and with many files. There is one server per number; requests alternate. */
export async function measureGrowth(bench: Bench): Promise<GrowthResult[]> {
  const stores: Store[] = [];
  try {
    for (const files of bench.quick ? [10, 100] : [10, 1000, 100_000]) {
      const szafa = await Szafa.start(join(bench.folder, `growth-${files}`), OWNER);
      stores.push({ files, szafa, times: { list: [], page: [], quota: [], me: [] } });
      if (files <= MOST_BY_API) await fillByApi(bench.pool, szafa, files);
      else await fillDatabase(szafa.data, OWNER, files);
      bench.log(`growth: ${files} files are there`);
    }
    // The first round only warms up.
    for (let round = 0; round <= bench.rounds; round++) {
      for (const store of stores) {
        for (const question of questions) {
          const { latenciesMs } = await bench.pool.run(
            store.szafa.port,
            1,
            requestsOf(bench, store, question),
          );
          if (round > 0) store.times[question].push(quantile(latenciesMs, 0.5));
        }
        if (round > 0) {
          const shown = questions.map(
            (question) => `${question} ${store.times[question].at(-1)!.toFixed(2)} ms`,
          );
          bench.log(`growth round ${round}, ${store.files} files: ${shown.join(', ')}`);
        }
      }
    }
    return await Promise.all(stores.map(resultOf));
  } finally {
    for (const { szafa } of stores) await szafa.daemon.stop();
  }
}

function requestsOf(bench: Bench, { files, szafa }: Store, question: Question): LoadRequest[] {
  if (question === 'list') {
    return repeat(Math.max(3, Math.min(100, 10_000 / files)), szafa.request('listFiles'));
  }
  const request =
    question === 'page'
      ? szafa.request('listFiles', {}, undefined, `?limit=${PAGE}`)
      : szafa.request(question);
  return repeat(bench.quick ? 20 : 500, request);
}

function repeat(times: number, request: LoadRequest): LoadRequest[] {
  return Array.from({ length: times }, () => request);
}

async function resultOf({ files, szafa, times }: Store): Promise<GrowthResult> {
  const list = await szafa.call<{ files: unknown[] }>('listFiles');
  if (list.files.length !== files)
    throw new RangeError(`${list.files.length} files are listed, not ${files}`);
  return {
    files,
    listMs: median(times.list),
    listBytes: JSON.stringify(list).length,
    pageMs: median(times.page),
    quotaMs: median(times.quota),
    meMs: median(times.me),
  };
}
