import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { pathOf } from '@szafa/protocol';
import { codeOf, stepAt } from '../../server/src/platform/totp.ts';
import {
  begin,
  makeDir,
  makeFile,
  putVolume,
  register,
  Service,
  type Uploaded,
  type User,
  upload,
  uploadStreamed,
} from '../harness/index.ts';
import { COMPILED, MAIN } from '../harness/main.ts';
import { Ceph } from './ceph.ts';
import { Postgres } from './postgres.ts';

export interface Result {
  code: number | null;
  /** Results and progress reports, with --json. */
  lines: Record<string, unknown>[];
  progress: Record<string, unknown>[];
  errors: string;
}

/** A running command of the server. */
export class Command {
  readonly ended: Promise<Result>;
  readonly #child: ChildProcess;
  #out = '';
  #errors = '';

  constructor(args: string[], env: Record<string, string>, cwd: string, within: string[] = []) {
    const [program = '', ...rest] = [...within, process.execPath, MAIN, ...args];
    const child = spawn(program, rest, {
      cwd,
      env: { PATH: process.env['PATH'] ?? '', NODE_COMPILE_CACHE: COMPILED, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 120_000,
    });
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.#out += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#errors += text;
    });
    this.#child = child;
    this.ended = once(child, 'close').then(([code]) => ({
      code,
      lines: args.includes('--json') ? this.#out.trim().split('\n').filter(Boolean).map(parse) : [],
      progress: this.progress,
      errors: this.#errors + this.#out,
    }));
  }

  get progress(): Record<string, unknown>[] {
    return (this.#errors.match(/^\{"progress":.*\}$/gm) ?? []).map(
      (line) => parse(line)['progress'] as never,
    );
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}

const parse = (line: string): Record<string, unknown> => JSON.parse(line);

/** PostgreSQL and S3 for one test file, and a folder for the files of its commands. */
export class Engines {
  #postgres: Postgres | undefined;
  #ceph: Ceph | undefined;
  readonly #services: Service[] = [];
  home = '';

  get postgres(): Postgres {
    return this.#postgres!;
  }

  get ceph(): Ceph {
    return this.#ceph!;
  }

  /** `large` starts PostgreSQL and S3. Otherwise services use SQLite and a folder. */
  async start(large: boolean): Promise<void> {
    if (large) [this.#postgres, this.#ceph] = await Promise.all([Postgres.start(), Ceph.start()]);
    this.home = await mkdtemp(join(tmpdir(), 'szafa-commands-'));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#services.map((service) => service.discard()));
    await Promise.all([this.#postgres?.stop(), this.#ceph?.stop()]);
    await rm(this.home, { recursive: true, force: true });
  }

  /** Returns the settings of a service with its own schema and prefix. */
  large(id: string): Record<'SZ_DATABASE' | 'SZ_VOLUMES', string> {
    return { SZ_DATABASE: `${this.postgres.url}?schema=${id}`, SZ_VOLUMES: this.ceph.url(id) };
  }

  /** Starts a service that is discarded when the tests end. */
  async service(env: Record<string, string> = {}): Promise<Service> {
    const service = new Service({ env: { SZ_WORKERS: '1', ...this.ceph.environment, ...env } });
    this.keep(service);
    return service.start();
  }

  /** Discards the service when the engines stop. */
  keep(service: Service): void {
    this.#services.push(service);
  }

  /** Starts a command of the server. `within` is a command to run it with. */
  begin(args: string[], env: Record<string, string> = {}, within: string[] = []): Command {
    return new Command(args, { ...this.#ceph?.environment, ...env }, this.home, within);
  }

  /** Runs a command of the server to its end. */
  run(args: string[], env: Record<string, string> = {}): Promise<Result> {
    return this.begin(args, env).ended;
  }
}

export function useEngines({ large = true } = {}): Engines {
  const engines = new Engines();
  before(() => engines.start(large));
  after(() => engines.stop());
  return engines;
}

export interface Content {
  user: User;
  /** The account's key bag. */
  keys: string;
  recovery: string;
  about: unknown;
  files: Uploaded[];
  transferId: string;
  pending: ReturnType<typeof makeFile>;
  dirId: number;
}

/** Creates an account with a second factor, two files, one of them in a directory, and an upload with one of two volumes. */
export async function fill(service: Service): Promise<Content> {
  const user = await register(service);
  const keys = randomBytes(100).toString('base64url');
  const recovery = randomBytes(32).toString('base64url');
  const first = { headers: { 'if-none-match': '*' }, json: { password: user.password, keys, recovery } };
  assert.equal((await user.call('PUT', pathOf('writeKeys'), first)).status, 200);
  const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
  const totp = { password: user.password, secret, code: codeOf(secret, stepAt(Date.now())) };
  assert.equal((await user.put(pathOf('setTotp'), totp)).status, 200);
  const about = (await service.call({ path: pathOf('service') })).json;
  const dirId = await makeDir(user, 'papers');
  const files = [
    await upload(user, makeFile([1_200_000, 5])),
    await uploadStreamed(user, makeFile([0, 70_000], { dir_id: dirId }), 'unsized'),
  ];
  const pending = makeFile([100, 200]);
  const transferId = await begin(user, pending);
  await putVolume(user, transferId, 2, pending.volumes[1]!);
  return { user, keys, recovery, about, files, transferId, pending, dirId };
}
