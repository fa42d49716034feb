import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathOf } from '@szafa/protocol';
import pg from 'pg';
import { Passwords } from '../../../server/src/accounts/passwords.ts';
import { type Config, readConfig } from '../../../server/src/config.ts';
import { openServices } from '../../../server/src/services.ts';
import { paths } from '../../../server/src/stores.ts';
import { Sweeper } from '../../../server/src/upkeep/sweeper.ts';
import { Postgres } from '../../../tests/engines/postgres.ts';
import type { Bench } from '../bench.ts';
import { request } from '../load/request.ts';
import { Szafa } from '../peers/szafa.ts';
import type { AccountsResult } from '../results.ts';
import { quantile } from '../stats.ts';
import { fillAccounts, nameOf } from './fill-accounts.ts';
import { timed } from './transfers.ts';

const PASSWORD = 'a password for the bench';
const PAGE = 100;
const ASKERS = 30;
/** Repetitions of sweep and scrape, which no account requests. */
const REPEATED = 10;
/** Wait for PostgreSQL's counters: an idle connection updates them after at most this time. */
const COUNTED_MS = 10_500;

/** Files of the small database. */
const FEW_FILES = 10_000;

const questions = ['login', 'page', 'quota', 'init', 'complete', 'rmdir', 'sweep', 'scrape'] as const;
type Question = (typeof questions)[number];

interface Side {
  accounts: number;
  files: number;
  szafa: Szafa;
  config: Config;
  times: Record<Question, number[]>;
  pages: Record<Question, number>;
}

/**
 * Measures frequent requests and background work with few and with many accounts in PostgreSQL. Accounts on both sides have the same
 * number of files, and each request comes from a different account. Counts pages as well as times, because page counts do not depend
 * on other load on the machine.
 */
export async function measureAccounts(bench: Bench): Promise<AccountsResult[]> {
  const { accounts, files } = bench.sizes;
  const filesEach = Math.max(1, Math.floor(files / accounts));
  const few = Math.max(1, Math.floor(Math.min(FEW_FILES, files / 10) / filesEach));
  // No autovacuum: its pages would be counted.
  const settings = { shared_buffers: '1GB', max_wal_size: '8GB', autovacuum: 'off' };
  const postgres = await Postgres.start(settings);
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
    await askInTurns(bench, sides);
    if (!bench.quick) await countPages(bench, postgres.url, sides);
    const [left, right] = sides as [Side, Side];
    const shown = ({ accounts, files, times, pages }: Side, question: Question) => ({
      ...{ accounts, files, pages: pages[question] },
      // The lower quartile leaves out requests that other load on the machine slowed down.
      ms: quantile(times[question], 0.25),
    });
    return questions.map((question) => ({
      question,
      few: shown(left, question),
      many: shown(right, question),
    }));
  } finally {
    await Promise.all(sides.map(({ szafa }) => szafa.daemon.stop()));
    await postgres.stop();
  }
}

/** Runs all requests on both sides, alternating. The first round is a warm-up. */
async function askInTurns(bench: Bench, sides: Side[]): Promise<void> {
  for (let round = 0; round <= bench.rounds; round++) {
    const askers = await Promise.all(sides.map((side) => Asker.signIn(bench, side, round)));
    for (const question of questions) {
      const lists = askers.map((asker) => asker.tasks(question));
      for (let at = 0; at < Math.max(...lists.map((list) => list.length)); at++) {
        // Alternate, because the machine's speed changes within a second.
        for (const [which, list] of lists.entries()) {
          const ms = await list[at]?.();
          if (ms !== undefined && round > 0) sides[which]!.times[question].push(ms);
        }
      }
    }
    for (const asker of askers) await asker.end();
    bench.log(`accounts: round ${round} is over`);
  }
}

/** Counts the pages that PostgreSQL accesses for one request of each kind. */
async function countPages(bench: Bench, url: string, sides: Side[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const pages = async () => {
    await sleep(COUNTED_MS);
    const text =
      'SELECT blks_hit + blks_read AS pages FROM pg_stat_database WHERE datname = current_database()';
    return Number((await client.query<{ pages: string }>(text)).rows[0]!.pages);
  };
  try {
    for (const side of sides) {
      const asker = await Asker.signIn(bench, side, bench.rounds + 1);
      for (const question of questions) {
        const tasks = asker.tasks(question);
        const before = await pages();
        for (const task of tasks) await task();
        side.pages[question] = ((await pages()) - before) / tasks.length;
      }
      await asker.end();
    }
  } finally {
    await client.end();
  }
}

async function begin(
  bench: Bench,
  name: string,
  database: string,
): Promise<Omit<Side, 'accounts' | 'files'>> {
  const folder = join(bench.folder, `accounts-${name}`);
  // No scrub, because the generated files have no volumes. No sweeps except for those measured.
  const env = { SZ_DATABASE: database, SZ_SCRUB_DAYS: '0', SZ_SWEEP_INTERVAL: '3600', SZ_MIN_FREE: '0' };
  const szafa = await Szafa.start(folder, 'bench', env);
  const config = readConfig({ ...env, SZ_DATA: szafa.data, SZ_LOG: 'error' });
  const times = { login: [], page: [], quota: [], init: [], complete: [], rmdir: [], sweep: [], scrape: [] };
  const pages = { login: 0, page: 0, quota: 0, init: 0, complete: 0, rmdir: 0, sweep: 0, scrape: 0 };
  return { szafa, config, times, pages };
}

type Task = () => Promise<number>;

/** Sends the measured requests for a few accounts, spread over all of them. */
class Asker {
  readonly #side: Side;
  readonly #round: number;
  readonly #own: Szafa[];
  readonly #services: Awaited<ReturnType<typeof openServices>>;
  readonly #systemToken: string;
  readonly #dirs: number[] = [];
  readonly #transfers: string[] = [];

  private constructor(
    side: Side,
    round: number,
    own: Szafa[],
    services: Awaited<ReturnType<typeof openServices>>,
    systemToken: string,
  ) {
    this.#side = side;
    this.#round = round;
    this.#own = own;
    this.#services = services;
    this.#systemToken = systemToken;
  }

  static async signIn(bench: Bench, side: Side, round: number): Promise<Asker> {
    const { szafa, accounts, config } = side;
    const count = Math.min(accounts, bench.quick ? 3 : ASKERS);
    const own: Szafa[] = [];
    for (let at = 0; at < count; at++) {
      own.push((await szafa.signedIn(nameOf(placeOf(at, count, accounts, round)), PASSWORD)).szafa);
    }
    const systemToken = (await readFile(paths.systemToken(config), 'utf8')).trim();
    return new Asker(side, round, own, await openServices(config, 'bench'), systemToken);
  }

  async end(): Promise<void> {
    this.#services.pulls.stop();
    await this.#services.metadata.close();
  }

  /** Returns tasks that return their time in milliseconds. Must be called in the order of `questions`: some need results of earlier ones. */
  tasks(question: Question): Task[] {
    const { szafa, accounts } = this.#side;
    const { port } = szafa;
    if (question === 'sweep') return this.#sweeps();
    if (question === 'scrape') return Array(REPEATED).fill(() => this.#scrape());
    return this.#own.map((own, at) => async () => {
      const time = async <T>(...asked: Parameters<Szafa['request']>) => timed<T>(port, own.request(...asked));
      switch (question) {
        case 'login': {
          const name = nameOf(placeOf(at, this.#own.length, accounts, this.#round));
          return (await szafa.signedIn(name, PASSWORD)).ms;
        }
        case 'page':
          return (await time('listFiles', {}, undefined, `?limit=${PAGE}`)).ms;
        case 'quota':
          return (await time('quota')).ms;
        case 'init': {
          const dir = await own.call<{ dir_id: number }>('createDir', {}, { name: `round ${this.#round}` });
          this.#dirs[at] = dir.dir_id;
          const body = { ...own.initBody(1, 1), dir_id: dir.dir_id };
          const { answer, ms } = await time<{ transfer_id: string }>('init', {}, body);
          this.#transfers[at] = answer.transfer_id;
          await timed(port, own.put(answer.transfer_id, 1, 1));
          return ms;
        }
        case 'complete':
          return (await time('complete', { transfer_id: this.#transfers[at]! })).ms;
        case 'rmdir':
          return (await time('deleteDir', { dir_id: this.#dirs[at]! })).ms;
      }
    });
  }

  async #scrape(): Promise<number> {
    const headers = { Authorization: `Bearer ${this.#systemToken}` };
    const scrape = request({ method: 'GET', path: pathOf('metrics'), headers });
    return (await timed(this.#side.szafa.port, scrape, (text) => text)).ms;
  }

  /** Runs the server's sweeper in this process, where it can be timed. */
  #sweeps(): Task[] {
    const sweeper = new Sweeper({ ...this.#services, shared: true });
    return Array(REPEATED).fill(async () => {
      const begun = performance.now();
      await sweeper.sweep();
      return performance.now() - begun;
    });
  }
}

/** Picks an account, a different one in each round. */
const placeOf = (at: number, count: number, accounts: number, round: number) =>
  Math.floor(((at + (round % 7) / 7) * accounts) / count);
