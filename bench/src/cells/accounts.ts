import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathOf } from '@szafa/protocol';
import { type Config, readConfig } from '../../../server/src/config.ts';
import { Passwords } from '../../../server/src/domain/passwords.ts';
import { Sweeper } from '../../../server/src/domain/sweeper.ts';
import { openServices, places } from '../../../server/src/services.ts';
import { Postgres } from '../../../tests/engines/postgres.ts';
import type { Bench } from '../bench.ts';
import { request } from '../load/request.ts';
import { Szafa } from '../peers/szafa.ts';
import type { AccountsResult } from '../results.ts';
import { median } from '../stats.ts';
import { fillAccounts, nameOf } from './fill-accounts.ts';
import { timed } from './transfers.ts';

const PASSWORD = 'a password for the bench';
const PAGE = 100;
const SWEEPS = 10;
const SCRAPES = 10;

/** How many there are to compare with. */
const FEW_FILES = 10_000;

const questions = ['login', 'page', 'quota', 'init', 'complete', 'rmdir', 'sweep', 'scrape'] as const;
type Question = (typeof questions)[number];

interface Side {
  accounts: number;
  files: number;
  szafa: Szafa;
  config: Config;
  times: Record<Question, number[]>;
}

/**
 * What everybody asks for, and what happens all the time, with few and with many accounts in PostgreSQL. Each account has equally
 * many files on both sides, and each request is another account's.
 */
export async function measureAccounts(bench: Bench): Promise<AccountsResult[]> {
  const { accounts, files } = bench.sizes;
  const filesEach = Math.max(1, Math.floor(files / accounts));
  const few = Math.max(1, Math.floor(Math.min(FEW_FILES, files / 10) / filesEach));
  const postgres = await Postgres.start({ shared_buffers: '1GB', max_wal_size: '8GB' });
  const sides: Side[] = [];
  try {
    const passwordHash = await new Passwords().hash(PASSWORD);
    for (const [name, count] of [
      ['few', few],
      ['many', accounts],
    ] as const) {
      const side = await begin(bench, name, `${postgres.socketUrl}&schema=${name}`);
      sides.push({ ...side, accounts: count, files: count * filesEach });
      const { log } = bench;
      await fillAccounts(side.config.database!, { accounts: count, filesEach, passwordHash, log });
      bench.log(`accounts: ${count * filesEach} files of ${count} accounts are there`);
    }
    // The first round only warms up.
    for (let round = 0; round <= bench.rounds; round++) {
      for (const side of sides) {
        if (round === 0) await ask(bench, side, 0);
        else {
          const times = await ask(bench, side, round);
          for (const question of questions) side.times[question].push(median(times[question]));
          const shown = questions.map((question) => `${question} ${side.times[question].at(-1)!.toFixed(2)}`);
          bench.log(`accounts round ${round}, ${side.files} files: ${shown.join(', ')} ms`);
        }
      }
    }
    const [left, right] = sides as [Side, Side];
    return questions.map((question) => ({
      question,
      few: { accounts: left.accounts, files: left.files, ms: median(left.times[question]) },
      many: { accounts: right.accounts, files: right.files, ms: median(right.times[question]) },
    }));
  } finally {
    await Promise.all(sides.map(({ szafa }) => szafa.daemon.stop()));
    await postgres.stop();
  }
}

async function begin(
  bench: Bench,
  name: string,
  database: string,
): Promise<Omit<Side, 'accounts' | 'files'>> {
  const folder = join(bench.folder, `accounts-${name}`);
  // What is filled in has no volumes; and only the sweeps that are measured are to run.
  const env = { SZ_DATABASE: database, SZ_SCRUB_DAYS: '0', SZ_SWEEP_INTERVAL: '3600', SZ_MIN_FREE: '0' };
  const szafa = await Szafa.start(folder, 'bench', env);
  const config = readConfig({ ...env, SZ_DATA: szafa.data, SZ_LOG: 'error' });
  const times = { login: [], page: [], quota: [], init: [], complete: [], rmdir: [], sweep: [], scrape: [] };
  return { szafa, config, times };
}

/** One round: a few accounts, spread over all of them. */
async function ask(bench: Bench, side: Side, round: number): Promise<Record<Question, number[]>> {
  const { szafa, accounts } = side;
  const times: Side['times'] = {
    ...{ login: [], page: [], quota: [], init: [], complete: [], rmdir: [], sweep: [], scrape: [] },
  };
  const askers = Math.min(accounts, bench.quick ? 3 : 40);
  for (let at = 0; at < askers; at++) {
    const account = Math.floor(((at + (round % 7) / 7) * accounts) / askers);
    const { ms: login, szafa: own } = await szafa.signedIn(nameOf(account), PASSWORD);
    times.login.push(login);
    const time = async <T>(question: Question, ...asked: Parameters<Szafa['request']>): Promise<T> => {
      const { answer, ms } = await timed<T>(szafa.port, own.request(...asked));
      times[question].push(ms);
      return answer;
    };
    await time('page', 'listFiles', {}, undefined, `?limit=${PAGE}`);
    await time('quota', 'quota');
    const dir = await own.call<{ dir_id: number }>('createDir', {}, { name: `round ${round}` });
    const body = { ...own.initBody(1, 1), dir_id: dir.dir_id };
    const { transfer_id } = await time<{ transfer_id: string }>('init', 'init', {}, body);
    await timed(szafa.port, own.put(transfer_id, 1, 1));
    await time('complete', 'complete', { transfer_id });
    await time('rmdir', 'deleteDir', { dir_id: dir.dir_id });
  }
  times.scrape.push(...(await scrapes(side)));
  times.sweep.push(...(await sweeps(side)));
  return times;
}

async function scrapes({ szafa, config }: Side): Promise<number[]> {
  const token = (await readFile(places.systemToken(config), 'utf8')).trim();
  const headers = { Authorization: `Bearer ${token}` };
  const times: number[] = [];
  for (let i = 0; i < SCRAPES; i++) {
    const { ms } = await timed<string>(
      szafa.port,
      request({ method: 'GET', path: pathOf('metrics'), headers }),
      (text) => text,
    );
    times.push(ms);
  }
  return times;
}

/** By the server's own sweeper, in this process, where its time can be taken. */
async function sweeps({ config }: Side): Promise<number[]> {
  const services = await openServices(config, 'bench');
  try {
    const sweeper = new Sweeper({ ...services, shared: true });
    const times: number[] = [];
    for (let i = 0; i <= SWEEPS; i++) {
      const begun = performance.now();
      await sweeper.sweep();
      // The first one opens connections, and does what the requests left to do.
      if (i > 0) times.push(performance.now() - begun);
    }
    return times;
  } finally {
    services.pulls.stop();
    await services.metadata.close();
  }
}
