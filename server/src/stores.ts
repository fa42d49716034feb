/** Opens, prepares and locks the two stores. This is the only file that names the engines. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Config } from './config.ts';
import { S3Connections } from './fastlane/s3-connection.ts';
import { Metadata } from './metadata.ts';
import { ConfigError, StoreUnavailable } from './platform/errors.ts';
import { timesOfS3 } from './platform/metrics/process.ts';
import type { Metrics } from './platform/metrics/registry.ts';
import { S3Client, type S3Options } from './platform/s3/client.ts';
import { S3Error } from './platform/s3/errors.ts';
import { S3Store } from './platform/s3/store.ts';
import type { PostgresStore } from './platform/sql/postgres.ts';
import type { Lock, SqlStore } from './platform/sql/sql.ts';
import { BUSY, SqliteStore } from './platform/sql/sqlite.ts';
import { FolderStore } from './platform/volumes/folder.ts';
import type { VolumeStore } from './platform/volumes/store.ts';
import { migrate } from './schema.ts';
import { pairStores, StoreRefused } from './upkeep/store-identity.ts';

/** Files in the data folder. */
export const paths = {
  database: (config: Config) => join(config.dataFolder, 'szafa.db'),
  lock: (config: Config) => join(config.dataFolder, 'lock.db'),
  systemToken: (config: Config) => join(config.dataFolder, 'system-token'),
};

export const newProcessName = () => randomBytes(6).toString('hex');

/** Whether other nodes may work on the same stores at the same time. */
export const isShared = (config: Config) => config.database !== undefined && config.s3 !== undefined;

/** `unlimited`: without time limits, for migrations and administrative commands. */
export async function openDatabase(config: Config, options?: { unlimited: boolean }): Promise<SqlStore> {
  if (config.database !== undefined) return openPostgres(config.database, options);
  const path = paths.database(config);
  try {
    return new SqliteStore(path);
  } catch (cause) {
    throw new ConfigError(`SZ_DATA: ${path} cannot be opened: ${(cause as Error).message}`, { cause });
  }
}

/** Loads the driver only when it is needed: it would slow down every start. */
async function openPostgres(url: string, options?: { unlimited: boolean }): Promise<PostgresStore> {
  const { PostgresStore } = await import('./platform/sql/postgres.ts');
  return new PostgresStore(url, options);
}

export function openS3({ location, credentials }: NonNullable<Config['s3']>, options?: S3Options): S3Client {
  const openReader = (endpoint: URL, idleMs: number) => new S3Connections(endpoint, idleMs);
  return new S3Client(location, credentials, { ...options, openReader });
}

/** `beforeChange` must resolve before an S3 store is written to. */
export function openVolumes(
  config: Config,
  processName: string,
  beforeChange = async () => {},
  metrics?: Metrics,
): VolumeStore {
  if (config.s3 === undefined)
    return new FolderStore(config.dataFolder, processName, { groupReads: config.accel });
  return new S3Store(openS3(config.s3, { beforeChange, times: metrics && timesOfS3(metrics) }));
}

/**
 * Opens the volume store for a process that serves requests. For S3, the process checks before its first change that the
 * store belongs to the database; a folder is checked at the start.
 */
export function openSettledVolumes(
  config: Config,
  processName: string,
  metadata: Metadata,
  metrics: Metrics,
): VolumeStore {
  const unsettled = openVolumes(config, newProcessName());
  let settled: Promise<unknown> | undefined;
  return openVolumes(
    config,
    processName,
    async () => {
      settled ??= pairStores(metadata.store, unsettled).catch((cause: unknown) => {
        settled = undefined;
        throw cause instanceof StoreRefused ? new StoreUnavailable('volumes', cause) : cause;
      });
      await settled;
    },
    metrics,
  );
}

/**
 * Migrates the database and creates the folders, before any process opens the stores. Creates or removes nothing in a volume
 * store that does not belong to the database; with `anyStore`, the caller checks that itself.
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

/** Locks the data folder until the process exits: two servers on one folder would undo each other's recovery. */
export function lockDataFolder(config: Config): () => void {
  const path = paths.lock(config);
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(path, { timeout: 0 });
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (cause) {
    const { errcode, message } = cause as Error & { errcode?: number };
    const why =
      errcode === BUSY
        ? `${config.dataFolder} is in use by another szafa`
        : `${path} cannot be used: ${message}`;
    throw new ConfigError(`SZ_DATA: ${why}`, { cause });
  }
  return () => lock.close();
}

/** Deletes the unfinished bodies of a process of this node that has ended, or of all processes if no name is given. */
export async function discardUnfinished(config: Config, processName?: string): Promise<void> {
  if (config.s3 === undefined) await FolderStore.discardUnfinished(config.dataFolder, processName);
}

/**
 * Checks that the volume store belongs to the database. The server starts even if S3 does not answer, because each process
 * repeats the check before it first writes. A store of another database stops the start.
 */
async function settleAtStart(config: Config, { store }: Metadata): Promise<void> {
  if (!config.s3) {
    await pairStores(store, new FolderStore(config.dataFolder, newProcessName()));
    return;
  }
  const client = openS3(config.s3, { totalMs: 1_000 });
  const volumes = new S3Store(client);
  try {
    await requireVolumes(volumes);
    await pairStores(store, volumes);
  } catch (error) {
    if (!(error instanceof StoreUnavailable && error.store === 'volumes')) throw error;
  } finally {
    client.close();
  }
}

/** Throws unless the store answers and accepts the credentials. */
export async function requireVolumes(volumes: VolumeStore): Promise<void> {
  await volumes.ping().catch((error: unknown) => {
    if (!(error instanceof S3Error)) throw error;
    throw new ConfigError(`SZ_VOLUMES: the store answers ${error.status} ${error.code}`, { cause: error });
  });
}

/**
 * Held by the one node that sweeps and recovers. With SQLite, the lock on the data folder is enough; with PostgreSQL it is an
 * advisory lock, which another node gets when its holder dies.
 */
export class SweepLock {
  readonly #url: string | undefined;
  #database: PostgresStore | undefined;
  #lock: Lock | undefined;

  constructor(config: Config) {
    this.#url = config.database;
  }

  /** Takes the lock if it is free; returns whether this node has it. */
  async acquire(): Promise<boolean> {
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
