import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Signer } from '../../../server/src/platform/s3/signer.ts';
import { Ceph } from '../../../tests/engines/ceph.ts';
import { Postgres } from '../../../tests/engines/postgres.ts';
import type { Bench } from '../bench.ts';
import { patternSha256 } from '../load/pattern.ts';
import { LoadPool } from '../load/pool.ts';
import { type LoadRequest, request } from '../load/request.ts';
import { Szafa } from '../peers/szafa.ts';
import type { ScaleResult } from '../results.ts';
import { median } from '../stats.ts';
import { cpuSeconds } from '../usage.ts';
import { fillByApi } from './fill.ts';
import { initTime, transferTimes } from './transfers.ts';

const MIB = 2 ** 20;
const CONNECTIONS = 8;
const ACCOUNTS = 8;
const FILES = 20;
const SLICES = 4;

/** A measurement of two set-ups. They alternate, so that other load on the machine affects both. */
interface Question {
  text: string;
  unit: ScaleResult['unit'];
  /** Runs many small requests of the same kind. If absent, the first round is the warm-up. */
  warmUp?: () => Promise<void>;
  /** Lower limit of measured / reference; for times, the upper limit. */
  bound: number;
  /** How often a round alternates between the two, because the machine's speed changes within a second. */
  slices?: number;
  reference: () => Promise<number>;
  measured: () => Promise<number>;
  /** Returns extra text for the report, after the last round. */
  detail?: () => string;
}

/** Compares the other stores, and several nodes, with the defaults and with direct access to the store. */
export async function measureScale(bench: Bench): Promise<ScaleResult[]> {
  const [postgres, ceph] = await Promise.all([Postgres.start(), Ceph.start()]);
  const started: Szafa[] = [];
  const second = new LoadPool(1);
  try {
    const start = async (name: string, env: Record<string, string>) => {
      const szafa = await Szafa.start(join(bench.folder, name), `bench_${name}`, env);
      started.push(szafa);
      return szafa;
    };
    const database = (schema: string) => ({ SZ_DATABASE: `${postgres.socketUrl}&schema=${schema}` });
    const s3 = (prefix: string) => ({ SZ_VOLUMES: ceph.url(prefix), ...ceph.environment });
    const embedded = await start('embedded', {});
    const tables = await start('tables', database('tables'));
    const large = await start('large', { ...database('large'), ...s3('large') });
    const both = { ...database('nodes'), ...s3('nodes'), SZ_WORKERS: '1' };
    const nodes = [await start('node_a', both), await start('node_b', both)] as const;
    const questions = [
      ...(await small(bench, embedded, tables)),
      ...volumes(bench, ceph, large),
      twoNodes(bench, second, large, nodes),
      ...transfers(bench, embedded, large),
    ];
    const results: ScaleResult[] = [];
    for (const question of questions) results.push(await answer(bench, question));
    return results;
  } finally {
    second.close();
    await Promise.all(started.map((szafa) => szafa.daemon.stop()));
    await Promise.all([postgres.stop(), ceph.stop()]);
  }
}

async function answer(bench: Bench, question: Question): Promise<ScaleResult> {
  const { text, unit, bound, detail } = question;
  const [reference, measured]: [number[], number[]] = [[], []];
  await question.warmUp?.();
  for (let round = question.warmUp ? 1 : 0; round <= bench.rounds; round++) {
    const [left, right] = await inTurns(question);
    if (round === 0) continue;
    reference.push(left);
    measured.push(right);
    bench.log(`scale round ${round}, ${text}: ${left.toFixed(1)}, ${right.toFixed(1)} ${unit}`);
  }
  return {
    question: text,
    unit,
    bound,
    reference: median(reference),
    measured: median(measured),
    ratio: median(measured.map((value, at) => value / reference[at]!)),
    detail: detail?.() ?? '',
  };
}

/** Returns the harmonic mean of the rates of all slices, because each slice does the same amount of work. */
async function inTurns({ slices = 1, reference, measured }: Question): Promise<[number, number]> {
  let [left, right] = [0, 0];
  for (let slice = 0; slice < slices; slice++) {
    left += 1 / (await reference());
    right += 1 / (await measured());
  }
  return [slices / left, slices / right];
}

/** An account with data for the requests to read or change. */
interface Account {
  szafa: Szafa;
  fileId: string;
  dirId: number;
  transferId: string;
}

interface Kind {
  text: string;
  /** Numbers of accounts to send the requests from. */
  accounts: number[];
  /** Requests per round. Enough that the first round completes all JIT compilation. */
  count: number;
  request: (account: Account, at: number) => LoadRequest;
}

const KINDS: Kind[] = [
  {
    text: 'who is signed in',
    accounts: [1, ACCOUNTS],
    count: 20_000,
    request: ({ szafa }) => szafa.request('me'),
  },
  { text: 'quota', accounts: [1, ACCOUNTS], count: 20_000, request: ({ szafa }) => szafa.request('quota') },
  {
    text: 'directories',
    accounts: [1, ACCOUNTS],
    count: 10_000,
    request: ({ szafa }) => szafa.request('listDirs'),
  },
  {
    text: `a list of ${FILES} files`,
    accounts: [1, ACCOUNTS],
    count: 10_000,
    request: ({ szafa }) => szafa.request('listFiles'),
  },
  {
    text: 'volumes received',
    accounts: [1, ACCOUNTS],
    count: 10_000,
    request: ({ szafa, transferId }) => szafa.request('received', { transfer_id: transferId }),
  },
  {
    text: 'a file moved',
    // Not with one account: its requests would update the same sums and wait for each other.
    accounts: [ACCOUNTS],
    count: 4000,
    request: ({ szafa, fileId, dirId }, at) =>
      szafa.request('moveFile', { file_id: fileId }, { dir_id: at % 2 ? dirId : 0 }),
  },
  // Must be last, because it makes the lists of directories longer.
  {
    text: 'a directory made',
    accounts: [1, ACCOUNTS],
    count: 4000,
    request: ({ szafa }) => szafa.request('createDir', {}, { name: randomBytes(8).toString('hex') }),
  },
];

async function small(bench: Bench, embedded: Szafa, tables: Szafa): Promise<Question[]> {
  const ready = new Map([
    [embedded, await accounts(bench, embedded)],
    [tables, await accounts(bench, tables)],
  ]);
  const rate = async (szafa: Szafa, users: number, kind: Kind) => {
    const count = bench.quick ? 100 : kind.count / SLICES;
    const chosen = ready.get(szafa)!.slice(0, users);
    const requests = Array.from({ length: count }, (_none, at) =>
      kind.request(chosen[at % users]!, Math.floor(at / users)),
    );
    return count / (await bench.pool.run(szafa.port, CONNECTIONS, requests)).seconds;
  };
  return KINDS.flatMap((kind) =>
    kind.accounts.map((users) => ({
      text: `${kind.text}, ${users === 1 ? 'one account' : `${users} accounts`}: PostgreSQL / SQLite`,
      unit: 'a second' as const,
      bound: 0.5,
      slices: SLICES,
      reference: () => rate(embedded, users, kind),
      measured: () => rate(tables, users, kind),
    })),
  );
}

async function accounts(bench: Bench, szafa: Szafa): Promise<Account[]> {
  const made: Account[] = [];
  for (let at = 0; at < ACCOUNTS; at++) {
    const one = await szafa.another(`account_${at}`);
    await fillByApi(bench.pool, one, FILES);
    const { files } = await one.call<{ files: { file_id: string }[] }>('listFiles');
    const { dir_id } = await one.call<{ dir_id: number }>('createDir', {}, { name: 'elsewhere' });
    made.push({ szafa: one, fileId: files[0]!.file_id, dirId: dir_id, transferId: await one.init(64, 1) });
  }
  return made;
}

function volumes(bench: Bench, ceph: Ceph, large: Szafa): Question[] {
  const count = bench.quick ? 4 : 48;
  const bytes = 8 * MIB;
  const megabytes = (count * bytes) / 1e6;
  const cpu = { put: [] as number[], get: [] as number[] };
  const direct = new Direct(ceph, count, bytes);
  const run = async (port: number, requests: LoadRequest[]) =>
    megabytes / (await bench.pool.run(port, CONNECTIONS, requests)).seconds;
  const watched = async (flow: 'put' | 'get', requests: LoadRequest[]) => {
    const before = cpuSeconds(large.daemon.pid);
    const rate = await run(large.port, requests);
    cpu[flow].push((cpuSeconds(large.daemon.pid) - before) / (megabytes / 1000));
    return rate;
  };
  const detail = (flow: 'put' | 'get') => () => `CPU of the node: ${median(cpu[flow]).toFixed(2)} s a GB`;
  let stored: LoadRequest[] = [];
  const put = async () => {
    const batch = await large.prepare(count, bytes);
    const rate = await watched('put', batch.puts);
    stored = await batch.gets();
    return rate;
  };
  // Large volumes alone are too few requests to trigger JIT compilation.
  const warmUp = async () => {
    const small = await large.prepare(bench.quick ? 4 : 1000, 128 * 1024);
    await bench.pool.run(large.port, CONNECTIONS, small.puts);
    const gets = await small.gets();
    for (let i = 0; i < 3; i++) await bench.pool.run(large.port, CONNECTIONS, gets);
    await small.remove();
  };
  const text = (verb: string) =>
    `${verb} of 8 MiB volumes, 8 connections: through a node / the gateway itself`;
  return [
    {
      text: text('PUT'),
      unit: 'MB/s',
      warmUp,
      bound: 0.8,
      reference: () => run(ceph.port, direct.puts()),
      measured: put,
      detail: detail('put'),
    },
    {
      text: text('GET'),
      unit: 'MB/s',
      bound: 0.8,
      slices: SLICES,
      reference: () => run(ceph.port, direct.gets()),
      measured: () => watched('get', stored),
      detail: detail('get'),
    },
  ];
}

/** Builds the same requests for the S3 gateway itself, with signatures. */
class Direct {
  readonly #ceph: Ceph;
  readonly #signer: Signer;
  readonly #count: number;
  readonly #bytes: number;
  readonly #prefix = randomBytes(4).toString('hex');

  constructor(ceph: Ceph, count: number, bytes: number) {
    this.#ceph = ceph;
    this.#signer = new Signer(ceph.credentials, 'us-east-1');
    this.#count = count;
    this.#bytes = bytes;
  }

  puts(): LoadRequest[] {
    return this.#each('PUT', patternSha256(this.#bytes), { body: this.#bytes });
  }

  gets(): LoadRequest[] {
    return this.#each('GET', patternSha256(0), { expectBytes: this.#bytes });
  }

  #each(method: string, payload: string, rest: { body?: number; expectBytes?: number }): LoadRequest[] {
    return Array.from({ length: this.#count }, (_none, at) => {
      const path = `/${this.#ceph.bucket}/direct/${this.#prefix}/${at}`;
      // Sign the host without a port, as the load generator sends it.
      const signed = this.#signer.sign({ method, host: '127.0.0.1', path, query: {}, headers: {}, payload });
      const { host: _host, ...headers } = signed;
      return request({ method, path, headers, ...rest });
    });
  }
}

function twoNodes(bench: Bench, second: LoadPool, one: Szafa, nodes: readonly [Szafa, Szafa]): Question {
  const count = bench.quick ? 100 : 10_000;
  const rate = async (left: Szafa, right: Szafa) => {
    const requests = (szafa: Szafa) => Array.from({ length: count }, () => szafa.request('quota'));
    const runs = await Promise.all([
      bench.pool.run(left.port, CONNECTIONS / 2, requests(left)),
      second.run(right.port, CONNECTIONS / 2, requests(right)),
    ]);
    return (2 * count) / Math.max(...runs.map(({ seconds }) => seconds));
  };
  return {
    text: 'GET quota: two nodes with one worker each / one node with a worker for each core',
    unit: 'a second',
    bound: 1,
    reference: () => rate(one, one),
    measured: () => rate(...nodes),
  };
}

function transfers(bench: Bench, embedded: Szafa, large: Szafa): Question[] {
  const count = bench.quick ? 20 : 10_000;
  const init = (szafa: Szafa) => initTime(szafa, count);
  const complete = async (szafa: Szafa) => (await transferTimes(bench, szafa, count)).completeMs;
  const warmUp = async (run: (szafa: Szafa) => Promise<unknown>) => {
    for (let i = 0; i < 10; i++) for (const szafa of [embedded, large]) await run(szafa);
  };
  const text = (what: string) =>
    `${what} with ${count.toLocaleString('en')} volumes: PostgreSQL and S3 / embedded`;
  return [
    {
      text: text('init'),
      unit: 'ms',
      bound: 2,
      warmUp: () => warmUp(init),
      reference: () => init(embedded),
      measured: () => init(large),
    },
    {
      text: text('complete'),
      unit: 'ms',
      bound: 2,
      warmUp: () => warmUp((szafa) => transferTimes(bench, szafa, 20)),
      reference: () => complete(embedded),
      measured: () => complete(large),
    },
  ];
}
