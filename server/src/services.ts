import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Accounts } from './accounts/accounts.ts';
import { AccountDeletion } from './accounts/deletion.ts';
import { Sessions } from './accounts/sessions.ts';
import { TokenScope } from './accounts/token-scope.ts';
import type { Config } from './config.ts';
import { S3Connections } from './fastlane/s3-connection.ts';
import { unblockStdout } from './fastlane/stdout.ts';
import { Directories } from './files/directories.ts';
import { Files } from './files/files.ts';
import { Thumbnails } from './files/thumbnails.ts';
import { Trash } from './files/trash.ts';
import { Metadata } from './metadata.ts';
import { guarded, Mode } from './operator/mode.ts';
import { openSpace } from './platform/cluster/lending.ts';
import { openRateLimiter } from './platform/cluster/pacing.ts';
import { ConfigError, StoreUnavailable, type VolumeRejected } from './platform/errors.ts';
import { countFault } from './platform/http/request-metrics.ts';
import { createLog, type Log } from './platform/log/log.ts';
import { Metrics } from './platform/metrics/registry.ts';
import { timesOfS3 } from './platform/metrics/s3.ts';
import type { RateLimiter } from './platform/rate-limit.ts';
import { S3Client, type S3Options } from './platform/s3/client.ts';
import { S3Error } from './platform/s3/errors.ts';
import { S3Store } from './platform/s3/store.ts';
import type { PostgresStore } from './platform/sql/postgres.ts';
import type { Lock, SqlStore } from './platform/sql/sql.ts';
import { BUSY, SqliteStore } from './platform/sql/sqlite.ts';
import { FolderStore } from './platform/volumes/folder.ts';
import type { VolumeStore } from './platform/volumes/store.ts';
import { migrate } from './schema.ts';
import { Requests } from './sharing/requests.ts';
import { Shares } from './sharing/shares.ts';
import { Pulls } from './transfers/pull/pulls.ts';
import { Transfers } from './transfers/transfers.ts';
import { Custody } from './upkeep/custody.ts';
import { StoreRefused, settleStore } from './upkeep/store-identity.ts';

export interface Services {
  config: Config;
  log: Log;
  metadata: Metadata;
  volumes: VolumeStore;
  custody: Custody;
  accounts: Accounts;
  sessions: Sessions;
  tokenScope: TokenScope;
  shares: Shares;
  requests: Requests;
  accountDeletion: AccountDeletion;
  directories: Directories;
  files: Files;
  trash: Trash;
  thumbnails: Thumbnails;
  transfers: Transfers;
  pulls: Pulls;
  mode: Mode;
  rateLimiter: RateLimiter;
  metrics: Metrics;
  /** The metrics of all processes of this node, in Prometheus' text format. */
  nodeMetrics: () => Promise<string>;
}

export const places = {
  database: (config: Config) => join(config.dataFolder, 'szafa.db'),
  lock: (config: Config) => join(config.dataFolder, 'lock.db'),
  systemToken: (config: Config) => join(config.dataFolder, 'system-token'),
};

/** Whether other nodes may work on the same stores at the same time. */
export const isShared = (config: Config) => config.database !== undefined && config.s3 !== undefined;

/** `unlimited`: for work that takes as long as it takes, as migrations and administrative commands. */
export async function openDatabase(config: Config, options?: { unlimited: boolean }): Promise<SqlStore> {
  if (config.database !== undefined) return openPostgres(config.database, options);
  const place = places.database(config);
  try {
    return new SqliteStore(place);
  } catch (cause) {
    throw new ConfigError(`SZ_DATA: ${place} cannot be opened: ${(cause as Error).message}`, { cause });
  }
}

/** Its driver is loaded only where it is used: a start is felt by whoever waits for it. */
async function openPostgres(url: string, options?: { unlimited: boolean }): Promise<PostgresStore> {
  const { PostgresStore } = await import('./platform/sql/postgres.ts');
  return new PostgresStore(url, options);
}

export function openS3({ location, credentials }: NonNullable<Config['s3']>, options?: S3Options): S3Client {
  const openReader = (endpoint: URL, idleMs: number) => new S3Connections(endpoint, idleMs);
  return new S3Client(location, credentials, { ...options, openReader });
}

/** `beforeChange`: what a store that may be out of reach at the start must pass before it is written to. */
export function openVolumes(
  config: Config,
  processName: string,
  beforeChange?: () => Promise<void>,
  metrics?: Metrics,
): VolumeStore {
  if (config.s3 === undefined) {
    return new FolderStore(config.dataFolder, processName, { groupReads: config.accel });
  }
  return new S3Store(
    openS3(config.s3, { ...(beforeChange && { beforeChange }), times: metrics && timesOfS3(metrics) }),
  );
}

/** Once, however many ask at the same time; again after a failure. */
function settledOnce(config: Config, metadata: Metadata): () => Promise<void> {
  const volumes = openVolumes(config, newProcessName());
  let settled: Promise<unknown> | undefined;
  const settle = () =>
    settleStore(metadata.store, volumes).catch((cause: unknown) => {
      settled = undefined;
      throw cause instanceof StoreRefused ? new StoreUnavailable('volumes', cause) : cause;
    });
  return async () => {
    settled ??= settle();
    await settled;
  };
}

/** The composition root: the only file that names the engines. */
export async function openServices(
  config: Config,
  processName: string,
  node = processName,
): Promise<Omit<Services, 'nodeMetrics'>> {
  const log = createLog(config.logLevel, { unblock: unblockStdout });
  const metrics = new Metrics();
  const metadata = new Metadata(await openDatabase(config));
  const mode = new Mode(metadata);
  const store = openVolumes(config, processName, settledOnce(config, metadata), metrics);
  const volumes = guarded(store, mode);
  const systemToken = config.systemToken ?? (await readFile(places.systemToken(config), 'utf8')).trim();
  const onFailure = (reason: 'wrong' | 'limit') => metrics.add('szafa_login_failures_total', { reason });
  const accounts = new Accounts(metadata, config, { onFailure });
  const sessions = new Sessions(metadata, config, systemToken);
  const tokenScope = new TokenScope(metadata);
  const accountDeletion = new AccountDeletion(metadata, volumes);
  const space = openSpace(config);
  const custody = new Custody({ metadata, volumes, config, log });
  const files = new Files({ metadata, volumes, space, config, custody });
  const transfers = new Transfers(metadata, volumes, space, config);
  const onRejected = (error: VolumeRejected) => countFault(metrics, error);
  const pulls = new Pulls({ metadata, space, transfers, config, runner: processName, node, onRejected });
  const rateLimiter = openRateLimiter();
  const thumbnails = new Thumbnails({ metadata, volumes, files, space, rateLimiter, config });
  const shares = new Shares({
    ...{ metadata, volumes, rateLimiter, config },
    onDownload: () => metrics.add('szafa_share_downloads_total', {}),
    onRefusal: (reason) => metrics.add('szafa_share_refusals_total', { reason }),
  });
  const requests = new Requests({
    ...{ metadata, transfers, rateLimiter, config },
    onUpload: () => metrics.add('szafa_request_uploads_total', {}),
    onRefusal: (reason) => metrics.add('szafa_request_refusals_total', { reason }),
  });
  const stores = { metadata, volumes, custody, mode };
  const [directories, trash] = [new Directories(metadata), new Trash(metadata)];
  const rules = {
    ...{ directories, trash },
    ...{ accounts, sessions, tokenScope, accountDeletion, files, thumbnails, transfers, pulls, rateLimiter },
    ...{ shares, requests },
  };
  return { config, log, ...stores, ...rules, metrics };
}

/**
 * What must be there before any process opens the stores; and whether they can be used at all. Before the store has
 * shown that it belongs to the database nothing is made or removed in it. `anyStore`: the caller sees to that itself.
 */
export async function prepareStores(config: Config, { anyStore = false } = {}): Promise<void> {
  const database = await openDatabase(config, { unlimited: true });
  try {
    await database.prepare?.();
    await migrate(database);
    if (!anyStore) await settleAtStart(config, new Metadata(database));
  } finally {
    await database.close();
  }
  if (config.s3 === undefined) await FolderStore.prepare(config.dataFolder, { groupReads: config.accel });
  if (!anyStore) await discardUnfinished(config);
}

/** Two services on one folder would undo each other's recovery. The lock goes with the process, however it ends. */
export function lockDataFolder(config: Config): () => void {
  const place = places.lock(config);
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(place, { timeout: 0 });
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (cause) {
    const { errcode, message } = cause as Error & { errcode?: number };
    const why =
      errcode === BUSY
        ? `${config.dataFolder} is in use by another szafa`
        : `${place} cannot be used: ${message}`;
    throw new ConfigError(`SZ_DATA: ${why}`, { cause });
  }
  return () => lock.close();
}

/** Deletes the unfinished bodies of a process of this node that has ended; without a name, of all of them. */
export async function discardUnfinished(config: Config, processName?: string): Promise<void> {
  if (config.s3 === undefined) await FolderStore.discardUnfinished(config.dataFolder, processName);
}

/**
 * A store that is away for a moment is no reason not to start: each process then settles before it first writes. One that
 * refuses us is, and so is one that belongs to another database.
 */
async function settleAtStart(config: Config, { store }: Metadata): Promise<void> {
  if (!config.s3) {
    await settleStore(store, new FolderStore(config.dataFolder, newProcessName()));
    return;
  }
  const client = openS3(config.s3, { totalMs: 1_000 });
  const volumes = new S3Store(client);
  try {
    await requireVolumes(volumes);
    await settleStore(store, volumes);
  } catch (error) {
    if (!(error instanceof StoreUnavailable && error.store === 'volumes')) throw error;
  } finally {
    client.close();
  }
}

/** Whether the store answers, and lets us in. */
export async function requireVolumes(volumes: VolumeStore): Promise<void> {
  await volumes.ping().catch((error: unknown) => {
    if (!(error instanceof S3Error)) throw error;
    throw new ConfigError(`SZ_VOLUMES: the store answers ${error.status} ${error.code}`, { cause: error });
  });
}

/**
 * The right to sweep and to recover, of which there is one. With SQLite the lock on the data folder has given it
 * already; with PostgreSQL it is a lock there, which goes on to another node when its holder dies.
 */
export class SweepRight {
  readonly #url: string | undefined;
  #database: PostgresStore | undefined;
  #lock: Lock | undefined;

  constructor(config: Config) {
    this.#url = config.database;
  }

  /** Takes it if nobody has it; says whether it is ours. */
  async held(): Promise<boolean> {
    if (this.#url === undefined) return true;
    this.#database ??= await openPostgres(this.#url);
    if (this.#lock && !(await this.#lock.confirm())) {
      await this.#lock.release();
      this.#lock = undefined;
    }
    this.#lock ??= await this.#database.tryLock('sweeper');
    return this.#lock !== undefined;
  }

  async release(): Promise<void> {
    await this.#lock?.release();
    await this.#database?.close();
  }
}

export const newProcessName = () => randomBytes(6).toString('hex');
