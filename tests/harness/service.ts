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
/** Shorter than the time that the server gives running requests to finish, so that a needless wait fails the test. */
const STOP_MS = 25_000;

export interface ServiceOptions {
  /** Environment variables that override those of the harness. */
  env?: Record<string, string>;
  /** Variables of the harness to leave out. */
  unset?: string[];
  /** A command that runs the service in another context, such as a separate network namespace. */
  within?: string[];
  /** Script to start the service with instead of MAIN. */
  main?: string;
  /** Command to start the service with instead of this Node, as in an installation. */
  command?: string[];
}

/** The OpenAPI document. Fetched once, because it is the same for all services and expensive to build. */
let published: OpenApi | undefined;

/** The process group of a running service and its workers. */
interface Running {
  child: ChildProcess;
  exited: Promise<number | NodeJS.Signals>;
}

function onPath(program: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.map((folder) => join(folder, program)).find((file) => existsSync(file));
}

/** A real server in its own process group, with its own data folder and a free port. */
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

  /** A folder of this service, deleted when the service is discarded. */
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

  /** Creates the home folder. Call it to prepare the folder before the first start. */
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
    // Ignore the rejection after the start.
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
    // The service must end if the test run is killed.
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

  /** Starts a process that is expected to fail, and returns its exit code. */
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
      // The group has already ended.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }

  /** Kills the service and all its workers, like a crash. */
  async kill9(): Promise<void> {
    this.#signalGroup('SIGKILL');
    await this.#running?.exited;
    this.#running = undefined;
  }

  /** Sends SIGTERM like a service manager, and asserts exit code 0. */
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

  /** Changes the options for the next start. */
  set(options: ServiceOptions): void {
    this.#options = options;
  }

  /** Restarts on the same data folder, gracefully unless it was killed. `options` replaces the earlier options. */
  async restart(options: ServiceOptions = this.#options): Promise<this> {
    await this.terminate();
    this.#options = options;
    return await this.start();
  }

  /** Ends the service gracefully, and asserts that its log has no secrets and its OpenAPI document lists all answers. */
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

  /** Ends the service without checks, after a failure that was already reported. */
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

/** An enforced quota of a thousand bytes. */
export const STRICT_QUOTA: ServiceOptions = {
  env: { SZ_QUOTA: '1000', SZ_QUOTA_ENFORCE: '1', SZ_SWEEP_INTERVAL: '1' },
};

/** Shares and file requests are off. */
export const WITHOUT_SHARES: ServiceOptions = { env: { SZ_SHARES: 'off', SZ_WORKERS: '1' } };

const inUse = new Map<string, Service>();

/**
 * Returns a service that all test files of a process with the same options share. It starts before the tests and ends after them; its
 * log is shown with each failure.
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

/** Runs a separate service for one test, for special options. Uses one worker, which halves the start time. */
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
