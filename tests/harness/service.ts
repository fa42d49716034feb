import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, after as afterTests, before as beforeTests, type TestContext } from 'node:test';
import { type Answer, type Call, send } from './http.ts';
import { COMPILED, MAIN } from './main.ts';
import { storeEnvironment } from './stores.ts';
import { type OpenApi, Witness } from './witness.ts';

const START_MS = 180_000;
/** Less than running requests get to finish: what waits for them to no purpose fails. */
const STOP_MS = 25_000;

export interface ServiceOptions {
  /** Added to, and stronger than, what the harness sets. */
  env?: Record<string, string>;
  /** Names that the harness sets and this service must not see. */
  unset?: string[];
  /** A command that runs the service elsewhere, as in a network of its own. */
  within?: string[];
  /** Another file than MAIN, to start the service with. */
  main?: string;
  /** Starts the service without this Node, as an installation does. */
  command?: string[];
}

/** The same of every service, and much work for one. */
let published: OpenApi | undefined;

/** A started process group: the service with its workers, and what they wrote. */
interface Running {
  child: ChildProcess;
  exited: Promise<number | NodeJS.Signals>;
}

function onPath(program: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.map((folder) => join(folder, program)).find((file) => existsSync(file));
}

/** A real service in its own process group, on its own data folder and a free port. */
export class Service {
  readonly systemToken = randomBytes(24).toString('base64url');
  readonly witness = new Witness();
  readonly id = `t${randomBytes(8).toString('hex')}`;
  #options: ServiceOptions;
  #running: Running | undefined;
  #home = '';
  #url = '';
  #log = '';

  constructor(options: ServiceOptions = {}) {
    this.#options = options;
    this.witness.keepSecret(this.systemToken);
  }

  get url(): string {
    assert.ok(this.#running, 'the service does not run');
    return this.#url;
  }

  /** The service's SZ_DATA. */
  get data(): string {
    return join(this.#home, 'data');
  }

  /** A folder of this service's own that is gone with it. */
  get home(): string {
    return this.#home;
  }

  get pid(): number {
    assert.ok(this.#running?.child.pid, 'the service does not run');
    return this.#running.child.pid;
  }

  /** Everything written to stdout and stderr since the first start. */
  get log(): string {
    return this.#log;
  }

  /** Creates the folder before the first start, to put something into it. */
  async makeHome(): Promise<string> {
    this.#home ||= await mkdtemp(join(tmpdir(), 'szafa-test-'));
    return this.#home;
  }

  async start(): Promise<this> {
    assert.equal(this.#running, undefined, 'the service runs already');
    await this.makeHome();
    const seenBefore = this.#log.length;
    const running = this.#spawn();
    this.#running = running;
    const died = running.exited.then((how) => {
      throw new Error(`the service ended at its start (${how}):\n${this.#log.slice(seenBefore)}`);
    });
    // The rejection matters only while we wait for the start.
    died.catch(() => {});
    const timer = Promise.withResolvers<never>();
    const late = setTimeout(
      () => timer.reject(new Error(`no start in ${START_MS} ms:\n${this.#log}`)),
      START_MS,
    );
    const listens = Promise.withResolvers<string>();
    const look = () => {
      const found = /szafa listens on (https?:\/\/[^\s"]+)/.exec(this.#log.slice(seenBefore));
      if (found?.[1]) listens.resolve(found[1]);
    };
    running.child.stdout?.on('data', look);
    try {
      this.#url = await Promise.race([listens.promise, died, timer.promise]);
    } catch (error) {
      await this.kill9();
      throw error;
    } finally {
      clearTimeout(late);
      running.child.stdout?.off('data', look);
    }
    return this;
  }

  #spawn(): Running {
    const env: Record<string, string> = {
      PATH: process.env['PATH'] ?? '',
      HOME: this.#home,
      NODE_COMPILE_CACHE: COMPILED,
      SZ_HOST: '127.0.0.1',
      SZ_PORT: '0',
      SZ_DATA: this.data,
      SZ_WORKERS: process.env['SZ_TEST_WORKERS'] ?? '2',
      SZ_LANE: process.env['SZ_TEST_LANE'] ?? '1',
      SZ_MIN_FREE: '0',
      SZ_SYSTEM_TOKEN: this.systemToken,
      ...storeEnvironment(this.id),
      ...this.#options.env,
    };
    for (const name of this.#options.unset ?? []) delete env[name];
    // A killed test run must leave no service behind.
    const setpriv = onPath('setpriv');
    const { within = [], main = MAIN, command = [process.execPath, main] } = this.#options;
    const whole = [...(setpriv ? [setpriv, '--pdeathsig', 'KILL'] : []), ...within, ...command];
    const child = spawn(whole[0] ?? '', whole.slice(1), {
      cwd: this.#home,
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#log += text;
      });
    }
    const exited = new Promise<number | NodeJS.Signals>((resolve, reject) => {
      child.once('close', (code, signal) => resolve(code ?? signal ?? 0));
      child.once('error', reject);
    });
    return { child, exited };
  }

  /** Starts a process that is expected to refuse, and returns its exit code. */
  async startAndFail(): Promise<number | NodeJS.Signals> {
    await this.makeHome();
    this.#running = this.#spawn();
    const late = setTimeout(() => this.#signalGroup('SIGKILL'), START_MS);
    try {
      return await this.#running.exited;
    } finally {
      clearTimeout(late);
      this.#running = undefined;
    }
  }

  #signalGroup(signal: NodeJS.Signals): void {
    const pid = this.#running?.child.pid;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch (error) {
      // The group is gone already, which is what a signal is to bring about.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }

  /** Ends the service and all its workers at once, as a power cut of the process would. */
  async kill9(): Promise<void> {
    this.#signalGroup('SIGKILL');
    await this.#running?.exited;
    this.#running = undefined;
  }

  /** SIGTERM, as a service manager does; the exit code must be 0. */
  async terminate(): Promise<void> {
    const running = this.#running;
    if (!running) return;
    const late = setTimeout(() => this.#signalGroup('SIGKILL'), STOP_MS);
    running.child.kill('SIGTERM');
    const how = await running.exited;
    clearTimeout(late);
    this.#running = undefined;
    assert.equal(how, 0, `the service did not end gracefully:\n${this.tail()}`);
  }

  /** Settings for the next start. */
  set(options: ServiceOptions): void {
    this.#options = options;
  }

  /** Starts again on the same data folder, gracefully or after kill9, with other settings where given. */
  async restart(options: ServiceOptions = this.#options): Promise<this> {
    await this.terminate();
    this.#options = options;
    return await this.start();
  }

  /** Ends the service for good: graceful end, no secret in its logs, no answer missing in its OpenAPI document. */
  async stop(): Promise<void> {
    try {
      if (this.#running) {
        published ??= (await send(this.url, { path: '/openapi.json' })).json as unknown as OpenApi;
        await this.terminate();
        this.witness.checkOpenApi(published);
      }
      this.witness.checkLogs(this.#log);
    } finally {
      await this.discard();
    }
  }

  /** Ends the service without a look at what it did, after a failure that has been told already. */
  async discard(): Promise<void> {
    await this.kill9();
    if (this.#home) await rm(this.#home, { recursive: true, force: true });
  }

  tail(chars = 4000): string {
    return this.#log.slice(-chars);
  }

  async call(call: Call): Promise<Answer> {
    const answer = await send(this.url, call);
    this.witness.note(call, answer);
    return answer;
  }
}

/** A thousand bytes for each account, and no more. */
export const STRICT_QUOTA: ServiceOptions = {
  env: { SZ_QUOTA: '1000', SZ_QUOTA_ENFORCE: '1', SZ_SWEEP_INTERVAL: '1' },
};

/** Nothing is shared, and nobody is asked for files. */
export const WITHOUT_SHARES: ServiceOptions = { env: { SZ_SHARES: 'off', SZ_WORKERS: '1' } };

const inUse = new Map<string, Service>();

/**
 * One service for all test files of a process that want the same settings: started before the tests, ended after them,
 * its log shown beside a failure.
 */
export function useService(options: ServiceOptions = {}): Service {
  const settings = JSON.stringify(options);
  const found = inUse.get(settings);
  if (found) return found;
  const service = new Service(options);
  inUse.set(settings, service);
  beforeTests(async () => {
    await service.start();
  });
  afterEach((context) => {
    if (!(context as TestContext).passed)
      (context as TestContext).diagnostic(`log of the service:\n${service.tail()}`);
  });
  afterTests(async () => {
    await service.stop();
  });
  return service;
}

/** A service of a test's own, for settings that others do not want; one worker, for it starts in half the time. */
export async function withService(
  options: ServiceOptions,
  run: (service: Service) => Promise<void>,
): Promise<void> {
  const service = new Service({ ...options, env: { SZ_WORKERS: '1', ...options.env } });
  try {
    await service.start();
    await run(service);
  } catch (error) {
    console.error(`log of the service:\n${service.tail()}`);
    await service.discard();
    throw error;
  }
  await service.stop();
}
