import { once } from 'node:events';
import { mkdir, open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Config, readTls } from './config.ts';
import { watchAccepting } from './fastlane/handover.ts';
import { probeIntake } from './fastlane/intake-probe.ts';
import { nodeSamples, storeSamples } from './node-metrics.ts';
import { REPORT_MS } from './operator/nodes-table.ts';
import { closeDataFolder } from './platform/cluster/data-folder.ts';
import { connectionLimit, descriptorLimit } from './platform/cluster/descriptors.ts';
import { shareLimits } from './platform/cluster/shared-limits.ts';
import { shareCertificate } from './platform/cluster/tls.ts';
import { ConfigError, StoreUnavailable } from './platform/errors.ts';
import { isLoopback } from './platform/http/addresses.ts';
import { missingPage } from './platform/http/page.ts';
import { newToken } from './platform/ids.ts';
import type { Log } from './platform/log/log.ts';
import { gatherMetrics, serveMetrics } from './platform/metrics/gathering.ts';
import { poolSamples, watchEventLoop } from './platform/metrics/process.ts';
import { openServices, type Services } from './services.ts';
import {
  discardUnfinished,
  isShared,
  lockDataFolder,
  newProcessName,
  paths,
  prepareStores,
  SweepLock,
} from './stores.ts';
import { Scrub } from './upkeep/scrub.ts';
import { Sweeper } from './upkeep/sweeper.ts';
import { Workers } from './workers.ts';

/** Pause before the next attempt to reach the stores. */
const RETRY_MS = 1000;
const STORES_MS = 60_000;
const LOCK_ATTEMPTS = 20;
const LOCK_PAUSE_MS = 250;

/** Sets up the data folder, recovers from a crash, keeps the workers alive, sweeps and scrubs. */
export async function runPrimary(config: Config): Promise<void> {
  await mkdir(config.dataFolder, { recursive: true, mode: 0o700 });
  const unlock = lockDataFolder(config);
  const openPaths = await closeDataFolder(config.dataFolder, config.accel && !config.s3);
  const tokenPlace = await ensureSystemToken(config);
  await retryWhileUnavailable(() => prepareStores(config));

  const node = newProcessName();
  const services = await openServices(config, node);
  const { log, metadata, metrics } = services;
  for (const warning of openPaths) log.warn(`SZ_DATA: ${warning}`);
  const sweeper = new Sweeper({ ...services, shared: isShared(config) });
  const lock = new SweepLock(config);
  if (!isShared(config) && !(await acquireSoon(lock))) {
    throw new ConfigError(
      'SZ_DATABASE is in use by another node; nodes can share a database only with SZ_VOLUMES=s3://…',
    );
  }
  await services.custody.begin();
  if (!isShared(config)) await sweeper.recover();

  const fault = config.lane && !config.tls ? await probeIntake() : undefined;
  if (fault !== undefined)
    log.warn(`the fast lane is off and uploads cost more CPU: Node ${process.version}: ${fault}`);
  const lane = config.lane && fault === undefined;
  shareCertificate(config.tls, () => readTls(process.env), log);
  shareLimits(config);
  watchAccepting(connectionLimit(descriptorLimit()), () => metrics.add('szafa_connections_refused_total'));
  const workers = new Workers({ ...config, lane }, node, log, async (processName) => {
    await discardUnfinished(config, processName);
    await metadata.pulls.endLeases(processName);
    await sweeper.finishStoring();
  });
  const sweeping: Sweeping = { lastAt: 0, isOurs: false };
  watchEventLoop(metrics);
  const readMetrics = gatherMetrics(async () => ({
    ...metrics.snapshot(poolSamples(metadata.load)),
    ...(await nodeSamples(config)),
    // While the database is unreachable, the other metrics matter most.
    ...(await storeSamples(metadata).catch(() => ({}))),
    szafa_sweep_success_timestamp_seconds: sweeping.lastAt / 1000,
  }));
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (!stop.signal.aborted) log.info('stopping: running requests may finish');
      stop.abort();
    });
  }
  const url = await workers.start();
  if (config.metricsPort !== undefined) await serveMetrics(readMetrics, config.host, config.metricsPort);
  log.info(`szafa listens on ${url}`);
  log.info(`data folder: ${config.dataFolder}`);
  log.info(`system token: ${tokenPlace}`);
  warnIfOpen(config, log);
  const withoutPage = missingPage();
  if (withoutPage !== undefined) log.warn(withoutPage);

  const loops = startLoops(stop.signal, services, { node, sweeper, lock, sweeping });
  if (!stop.signal.aborted) await once(stop.signal, 'abort');
  await Promise.all([workers.stop(), ...loops]);
  await lock.release();
  await metadata.close();
  unlock();
  log.info('stopped');
  process.exit(0);
}

/** Creates the system token at the first start, unless one is configured; returns where to find it. */
async function ensureSystemToken(config: Config): Promise<string> {
  if (config.systemToken !== undefined) return 'as configured (SZ_SYSTEM_TOKEN)';
  const path = paths.systemToken(config);
  try {
    const file = await open(path, 'wx', 0o600);
    await file.writeFile(`${newToken()}\n`);
    await file.sync();
    await file.close();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return isShared(config) ? `in ${path}, for this node; set SZ_SYSTEM_TOKEN to share one` : `in ${path}`;
}

/** Warns that the defaults let anyone fill the disk on an address that others can reach. */
function warnIfOpen({ host, registration, quotaEnforced }: Config, log: Log): void {
  if (host === 'localhost' || isLoopback(host)) return;
  const reasons = [
    ...(registration === 'open'
      ? ['anyone may create an account (SZ_REGISTRATION=invite or closed stops that)']
      : []),
    ...(quotaEnforced ? [] : ['the quota is not enforced (SZ_QUOTA_ENFORCE=1 enforces it)']),
  ];
  if (reasons.length > 0)
    log.warn(`anyone who can reach ${host} can fill the disk: ${reasons.join(', and ')}`);
}

/** Waits for a database that is still starting, as after a power cut. */
async function retryWhileUnavailable<T>(attempt: () => Promise<T>): Promise<T> {
  for (const end = Date.now() + STORES_MS; ; await sleep(RETRY_MS)) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || Date.now() > end) throw error;
    }
  }
}

/** Takes the lock. A node that was just killed may appear to hold it for a moment. */
async function acquireSoon(lock: SweepLock): Promise<boolean> {
  for (let attempt = 0; attempt < LOCK_ATTEMPTS; attempt++) {
    if (await lock.acquire()) return true;
    await sleep(LOCK_PAUSE_MS);
  }
  return false;
}

/** Runs `round` repeatedly until `stop`, with a pause after each round. */
async function repeatUntil(stop: AbortSignal, pauseMs: number, round: () => Promise<unknown>): Promise<void> {
  while (!stop.aborted) {
    await round();
    await sleep(pauseMs, undefined, { signal: stop }).catch(() => undefined /* stopped */);
  }
}

/** When this node last swept, and whether it holds the lock. */
interface Sweeping {
  lastAt: number;
  isOurs: boolean;
}

/** Sweeps, scrubs and reports until `stop`. */
function startLoops(
  stop: AbortSignal,
  services: Omit<Services, 'nodeMetrics'>,
  parts: { node: string; sweeper: Sweeper; lock: SweepLock; sweeping: Sweeping },
): Promise<void>[] {
  const { config, custody, log, pulls, metadata } = services;
  const { node, sweeper, lock, sweeping } = parts;
  // Every node removes its own unused pull folders; only the holder of the lock sweeps the stores.
  const sweep = async () => {
    if (await custody.mayRemove()) await pulls.removeUnused();
    sweeping.isOurs = await lock.acquire();
    if (sweeping.isOurs) await sweeper.sweep();
    sweeping.lastAt = sweeping.isOurs ? Date.now() : 0;
  };
  const onSweepFailure = (err: unknown) => log.error({ err }, 'sweeping failed; trying again');
  // A separate loop on the node that sweeps: a scrub may take days, and garbage must not wait for it.
  const scrub = new Scrub(services);
  const scrubIfOurs = async () => {
    if (sweeping.isOurs) await scrub.work(stop, () => sweeping.isOurs);
  };
  const onScrubFailure = (err: unknown) =>
    log.error({ err }, 'the scrub failed; it will continue where it stopped');
  // Keeps this node and its settings in the list of running nodes.
  const startedAt = Date.now();
  const report = () => metadata.nodes.report(node, startedAt, config);
  const onReportFailure = (err: unknown) => log.debug({ err }, 'could not report that this node runs');
  return [
    repeatUntil(stop, config.sweepMs, () => sweep().catch(onSweepFailure)),
    repeatUntil(stop, config.sweepMs, () => scrubIfOurs().catch(onScrubFailure)),
    repeatUntil(stop, REPORT_MS, () => report().catch(onReportFailure)).then(() =>
      metadata.nodes.remove(node).catch(onReportFailure),
    ),
  ];
}
