import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Services } from './app.ts';
import { type Config, ConfigError } from './config.ts';
import { Accounts } from './domain/accounts.ts';
import { Files } from './domain/files.ts';
import { Pulls } from './domain/pulls.ts';
import { Transfers } from './domain/transfers.ts';
import type { VolumeRejected } from './errors.ts';
import { countFault } from './http/metrics.ts';
import { createLog } from './log.ts';
import { Metadata } from './metadata/metadata.ts';
import type { PostgresStore } from './metadata/postgres.ts';
import { migrate } from './metadata/schema.ts';
import type { Lock, SqlStore } from './metadata/sql.ts';
import { BUSY, SqliteStore } from './metadata/sqlite.ts';
import { Metrics } from './metrics/registry.ts';
import { S3Client, S3Error } from './s3/client.ts';
import { FolderStore } from './volumes/folder.ts';
import { S3Store } from './volumes/s3.ts';
import type { VolumeStore } from './volumes/store.ts';

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
  const { PostgresStore } = await import('./metadata/postgres.ts');
  return new PostgresStore(url, options);
}

export function openVolumes(config: Config, processName: string): VolumeStore {
  return config.s3 === undefined
    ? new FolderStore(config.dataFolder, processName)
    : new S3Store(new S3Client(config.s3.location, config.s3.credentials));
}

/** The composition root: the only file that names the engines. */
export async function openServices(config: Config, processName: string): Promise<Omit<Services, 'gathered'>> {
  const log = createLog(config.logLevel);
  const metadata = new Metadata(await openDatabase(config));
  const volumes = openVolumes(config, processName);
  const systemToken = config.systemToken ?? (await readFile(places.systemToken(config), 'utf8')).trim();
  const accounts = new Accounts(metadata, config, systemToken);
  const files = new Files(metadata, volumes, config);
  const transfers = new Transfers(metadata, volumes, config);
  const metrics = new Metrics();
  const onRejected = (error: VolumeRejected) => countFault(metrics, error);
  const pulls = new Pulls({ metadata, volumes, transfers, config, runner: processName, onRejected });
  return { config, log, metadata, volumes, accounts, files, transfers, pulls, metrics };
}

/** What must be there before any process opens the stores; and whether they can be used at all. */
export async function prepareStores(config: Config): Promise<void> {
  const database = await openDatabase(config, { unlimited: true });
  try {
    await database.prepare?.();
    await migrate(database);
  } finally {
    await database.close();
  }
  if (config.s3 === undefined) await FolderStore.prepare(config.dataFolder);
  else await checkBucket(config.s3);
  await discardUnfinished(config);
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

/** What a process of this node that is no more left on its way in; without a name: all of them. */
export async function discardUnfinished(config: Config, processName?: string): Promise<void> {
  if (config.s3 === undefined) await FolderStore.discardUnfinished(config.dataFolder, processName);
}

/** A store that is away for a moment is no reason not to start; one that refuses us is. */
async function checkBucket({ location, credentials }: NonNullable<Config['s3']>): Promise<void> {
  const client = new S3Client(location, credentials, { totalMs: 1_000 });
  try {
    await requireVolumes(new S3Store(client));
  } catch (error) {
    if (error instanceof ConfigError) throw error;
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
