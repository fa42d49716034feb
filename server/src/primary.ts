import cluster, { type Address, type Worker } from 'node:cluster';
import { once } from 'node:events';
import { mkdir, open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Config, readTls } from './config.ts';
import { isListening, recoverConnections, stopAccepting, watchAccepting } from './fastlane/handover.ts';
import { probeIntake } from './fastlane/intake-probe.ts';
import { nodeSamples, storeSamples } from './node-metrics.ts';
import { REPORT_MS } from './operator/nodes-table.ts';
import { closeDataFolder } from './platform/cluster/data-folder.ts';
import { connectionLimit, descriptorLimit } from './platform/cluster/descriptors.ts';
import { lendToWorkers } from './platform/cluster/lending.ts';
import { paceWorkers } from './platform/cluster/pacing.ts';
import { shareCertificate } from './platform/cluster/tls.ts';
import { ConfigError, StoreUnavailable } from './platform/errors.ts';
import { isLoopback } from './platform/http/addresses.ts';
import { missingPage } from './platform/http/page.ts';
import { newToken } from './platform/ids.ts';
import type { Log } from './platform/log/log.ts';
import { Gatherer } from './platform/metrics/gathering.ts';
import { poolSamples, watchEventLoop } from './platform/metrics/process.ts';
import {
  discardUnfinished,
  isShared,
  lockDataFolder,
  newProcessName,
  openServices,
  places,
  prepareStores,
  type Services,
  SweepRight,
} from './services.ts';
import { Scrub } from './upkeep/scrub.ts';
import { Sweeper } from './upkeep/sweeper.ts';

const RESPAWN_MS = 1000;
const STORES_MS = 60_000;

/** Sets the data folder up, finishes what a crash left, keeps the workers alive and sweeps. */
export async function runPrimary(config: Config): Promise<void> {
  await mkdir(config.dataFolder, { recursive: true, mode: 0o700 });
  const unlock = lockDataFolder(config);
  const open = await closeDataFolder(config.dataFolder, config.accel && !config.s3);
  const tokenPlace = await ensureSystemToken(config);
  await whenReachable(() => prepareStores(config));

  const node = newProcessName();
  const services = await openServices(config, node);
  const { log } = services;
  for (const warning of open) log.warn(`SZ_DATA: ${warning}`);
  const sweeper = new Sweeper({ ...services, shared: isShared(config) });
  const right = new SweepRight(config);
  if (!isShared(config) && !(await holdsSoon(right))) {
    throw new ConfigError(
      'SZ_DATABASE is in use by another node; nodes can share a database only with SZ_VOLUMES=s3://…',
    );
  }
  await services.custody.begin();
  if (!isShared(config)) await sweeper.recover();

  const fault = config.lane && !config.tls ? await probeIntake() : undefined;
  if (fault !== undefined) {
    log.warn(`the fast lane is off and uploads cost more CPU: Node ${process.version}: ${fault}`);
  }
  const lane = config.lane && fault === undefined;
  shareCertificate(config.tls, () => readTls(process.env), log);
  lendToWorkers(config);
  paceWorkers();
  watchAccepting(connectionLimit(descriptorLimit()), () =>
    services.metrics.add('szafa_connections_refused_total'),
  );
  const workers = new Workers({ ...config, lane }, node, log, async (processName) => {
    await discardUnfinished(config, processName);
    await services.metadata.pulls.abandon(processName);
    await sweeper.finishStoring();
  });
  const swept: Swept = { at: 0, ours: false };
  watchEventLoop(services.metrics);
  const gatherer = new Gatherer(async () => ({
    ...services.metrics.snapshot(poolSamples(services.metadata.load)),
    ...(await nodeSamples(config)),
    // Without the database the rest is worth the more.
    ...(await storeSamples(services.metadata).catch(() => ({}))),
    szafa_sweep_success_timestamp_seconds: swept.at / 1000,
  }));
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (!stop.signal.aborted) log.info('stopping: running requests may finish');
      stop.abort();
    });
  }
  const url = await workers.start();
  if (config.metricsPort !== undefined) await gatherer.listen(config.host, config.metricsPort);
  log.info(`szafa listens on ${url}`);
  log.info(`data folder: ${config.dataFolder}`);
  log.info(`system token: ${tokenPlace}`);
  warnIfOpen(config, log);
  const withoutPage = missingPage();
  if (withoutPage !== undefined) log.warn(withoutPage);

  const sweeping = sweepUntil(stop.signal, sweeper, right, services, swept);
  const reporting = reportUntil(stop.signal, node, services);
  const scrubbing = scrubUntil(stop.signal, new Scrub(services), services, swept);
  if (!stop.signal.aborted) await once(stop.signal, 'abort');
  await Promise.all([workers.stop(), sweeping, scrubbing, reporting]);
  await right.release();
  await services.metadata.close();
  unlock();
  log.info('stopped');
  process.exit(0);
}

/** Where the system token can be read; made at the first start when none is configured. */
async function ensureSystemToken(config: Config): Promise<string> {
  if (config.systemToken !== undefined) return 'as configured (SZ_SYSTEM_TOKEN)';
  const place = places.systemToken(config);
  try {
    const file = await open(place, 'wx', 0o600);
    await file.writeFile(`${newToken()}\n`);
    await file.sync();
    await file.close();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  // Made here, it is known here only.
  return isShared(config) ? `in ${place}, for this node; set SZ_SYSTEM_TOKEN to share one` : `in ${place}`;
}

/** Both are as specified, and on an address that others reach they let anybody fill the disk. */
function warnIfOpen({ host, registration, quotaEnforced }: Config, log: Log): void {
  if (host === 'localhost' || isLoopback(host)) return;
  const open = [
    ...(registration === 'open'
      ? ['anyone may create an account (SZ_REGISTRATION=invite or closed stops that)']
      : []),
    ...(quotaEnforced ? [] : ['the quota is not enforced (SZ_QUOTA_ENFORCE=1 enforces it)']),
  ];
  if (open.length > 0) log.warn(`anyone who can reach ${host} can fill the disk: ${open.join(', and ')}`);
}

/** A database that is only just coming up, as after a power cut, is waited for. */
async function whenReachable<T>(attempt: () => Promise<T>): Promise<T> {
  for (const end = Date.now() + STORES_MS; ; await sleep(RESPAWN_MS)) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || Date.now() > end) throw error;
    }
  }
}

/** A node that was just killed may seem to hold it for a moment. */
async function holdsSoon(right: SweepRight): Promise<boolean> {
  for (let tries = 0; tries < 20; tries++) {
    if (await right.held()) return true;
    await sleep(250);
  }
  return false;
}

/** When this node last swept, and whether it has the right to. */
interface Swept {
  at: number;
  ours: boolean;
}

/** Rounds of cleaning up: what is this node's own on each node, all else where the right to it is held. */
async function sweepUntil(
  stop: AbortSignal,
  sweeper: Sweeper,
  right: SweepRight,
  { config, custody, log, pulls }: Pick<Services, 'config' | 'custody' | 'log' | 'pulls'>,
  swept: Swept,
): Promise<void> {
  const round = async () => {
    if (await custody.mayRemove()) await pulls.reclaim();
    swept.ours = await right.held();
    if (swept.ours) await sweeper.sweep();
    swept.at = swept.ours ? Date.now() : 0;
  };
  while (!stop.aborted) {
    await round().catch((err: unknown) => log.error({ err }, 'sweeping failed; trying again'));
    await sleep(config.sweepMs, undefined, { signal: stop }).catch(() => undefined /* stopped */);
  }
}

/** Keeps this node and its settings among those that run. */
async function reportUntil(
  stop: AbortSignal,
  node: string,
  { config, log, metadata: { nodes } }: Pick<Services, 'config' | 'log' | 'metadata'>,
): Promise<void> {
  const startedAt = Date.now();
  const failed = (err: unknown) => log.debug({ err }, 'could not report that this node runs');
  while (!stop.aborted) {
    await nodes.report(node, startedAt, config).catch(failed);
    await sleep(REPORT_MS, undefined, { signal: stop }).catch(() => undefined /* stopped */);
  }
  await nodes.remove(node).catch(failed);
}

/** Beside the sweeper, and only where that one runs: it may take days, and garbage does not wait for it. */
async function scrubUntil(
  stop: AbortSignal,
  scrub: Scrub,
  { config, log }: Pick<Services, 'config' | 'log'>,
  swept: Swept,
): Promise<void> {
  while (!stop.aborted) {
    const work = swept.ours ? scrub.work(stop, () => swept.ours) : undefined;
    await work?.catch((err: unknown) => log.error({ err }, 'the scrub failed; it goes on where it was'));
    await sleep(config.sweepMs, undefined, { signal: stop }).catch(() => undefined /* stopped */);
  }
}

/** The worker processes on one port; one that dies is replaced. */
class Workers {
  readonly #config: Config;
  readonly #node: string;
  readonly #log: Log;
  readonly #onDeath: (processName: string) => Promise<void>;
  #stopping = false;

  constructor(config: Config, node: string, log: Log, onDeath: (processName: string) => Promise<void>) {
    this.#config = config;
    this.#node = node;
    this.#log = log;
    this.#onDeath = onDeath;
  }

  /** Resolves to the address once every worker listens. */
  async start(): Promise<string> {
    cluster.schedulingPolicy = cluster.SCHED_RR;
    const [first] = await Promise.all(Array.from({ length: this.#config.workers }, () => this.#spawn()));
    const host = this.#config.host.includes(':') ? `[${this.#config.host}]` : this.#config.host;
    return `${this.#config.tls ? 'https' : 'http'}://${host}:${first!.port}`;
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await stopAccepting();
    // One that has just died is listed until its channel is gone too, and says no second time that it ended.
    const workers = (Object.values(cluster.workers ?? {}) as Worker[]).filter((worker) => !worker.isDead());
    await Promise.all(
      workers.map(
        (worker) =>
          new Promise<void>((resolve) => {
            worker.once('exit', () => resolve());
            if (!isListening(worker)) worker.process.kill('SIGKILL');
            else if (worker.isConnected()) worker.send('stop');
          }),
      ),
    );
  }

  #spawn(): Promise<Address> {
    const processName = newProcessName();
    const startedAt = Date.now();
    const worker = cluster.fork({
      // More threads for file operations than Node's four: each durable write waits for the disk in one.
      UV_THREADPOOL_SIZE: '16',
      // The 19 MiB of a password hash go back to the system. Else glibc learns to keep them, for every thread that hashed once.
      MALLOC_MMAP_THRESHOLD_: String(4 * 1024 * 1024),
      // With that alone glibc would give back and fetch what every volume needs: a fifth more CPU for a GET.
      MALLOC_TRIM_THRESHOLD_: String(64 * 1024 * 1024),
      ...process.env,
      SZ_LANE: this.#config.lane ? '1' : '0',
      // From the primary: see tls.ts.
      ...{ SZ_TLS_CERT: '', SZ_TLS_KEY: '' },
      SZAFA_PROCESS: processName,
      SZAFA_NODE: this.#node,
    });
    recoverConnections(worker);
    return new Promise((resolve, reject) => {
      let address: Address | undefined;
      worker.once('listening', (found) => {
        address = found;
      });
      worker.on('message', (message) => {
        if (message === 'ready') resolve(address!);
      });
      // A message to a worker that has just died fails, and the worker's exit is reported next. A process that could not be started reports no exit.
      worker.on('error', (err) => {
        this.#log.debug({ err }, 'a message did not reach a worker');
        if (worker.process.pid === undefined) reject(err);
      });
      worker.once('exit', (code, signal) => {
        if (this.#stopping) return;
        if (!address) {
          reject(new ConfigError('a worker could not start; see above'));
          return;
        }
        this.#log.error({ code, signal }, 'worker died; starting a replacement');
        void this.#replace(startedAt);
        this.#onDeath(processName).catch((err: unknown) => {
          this.#log.error({ err }, 'could not clean up after the worker; the next start will');
        });
      });
    });
  }

  /** Never gives up: the other workers serve meanwhile. */
  async #replace(startedAt: number): Promise<void> {
    for (let early = Date.now() - startedAt < RESPAWN_MS; ; early = true) {
      if (early) await sleep(RESPAWN_MS);
      if (this.#stopping) return;
      try {
        await this.#spawn();
        return;
      } catch (err) {
        this.#log.error({ err }, 'worker died while starting; starting another one');
      }
    }
  }
}
