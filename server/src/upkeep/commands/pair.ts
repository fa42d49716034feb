import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Config, readConfig } from '../../config.ts';
import { Metadata } from '../../metadata.ts';
import { UsageError } from '../../operator/commands/report.ts';
import { ConfigError } from '../../platform/errors.ts';
import type { SqlStore } from '../../platform/sql/sql.ts';
import type { VolumeStore } from '../../platform/volumes/store.ts';
import { requireVersion } from '../../schema.ts';
import {
  isShared,
  lockDataFolder,
  newProcessName,
  openDatabase,
  openVolumes,
  paths,
  prepareStores,
  requireVolumes,
  SweepLock,
} from '../../stores.ts';
import { isForeign, pairStores } from '../store-identity.ts';

/** A database and a volume store, opened for a command. */
export interface Pair {
  config: Config;
  sql: SqlStore;
  metadata: Metadata;
  volumes: VolumeStore;
  close(): Promise<void>;
}

/**
 * Reads the settings, with the stores replaced by `text`: `folder`, `postgres://…,s3://…`, or one of the two and a folder,
 * which then holds the other store.
 */
export function configOf(text: string, env: NodeJS.ProcessEnv): Config {
  const { SZ_DATABASE: _, SZ_VOLUMES: __, SZ_DATABASE_FILE: ___, ...rest } = env;
  const chosen: Record<string, string | undefined> = { ...rest };
  for (const part of text.split(/,(?=postgres(?:ql)?:\/\/|s3:\/\/|[./~])/)) {
    if (/^postgres(ql)?:\/\//.test(part)) chosen['SZ_DATABASE'] = part;
    else if (part.startsWith('s3://')) chosen['SZ_VOLUMES'] = part;
    else if (part !== '') chosen['SZ_DATA'] = resolve(part);
    else
      throw new UsageError(
        'STORES must be a folder, postgres://…, s3://…, or two of them separated by a comma',
      );
  }
  return readConfig(chosen);
}

/** Opens stores that belong together. A server may be running; nothing is created or upgraded. */
export async function openPair(config: Config): Promise<Pair> {
  const pair = await openStores(config);
  try {
    if (config.s3) await requireVolumes(pair.volumes);
    const { facts, mark } = await pairStores(pair.metadata.store, pair.volumes);
    // After a restore, this command may be the first to notice the contest.
    if (isForeign(facts, mark)) await pair.metadata.store.contest(Date.now());
    return pair;
  } catch (error) {
    await pair.close();
    throw error;
  }
}

/** Opens stores without checking that they belong together. */
export async function openStores(config: Config): Promise<Pair> {
  requireDatabase(config);
  const sql = await openDatabase(config, { unlimited: true });
  try {
    await requireVersion(sql);
  } catch (error) {
    await sql.close();
    throw error;
  }
  const volumes = openVolumes(config, newProcessName());
  return { config, sql, metadata: new Metadata(sql), volumes, close: () => sql.close() };
}

/** Throws if the database is missing; SQLite would create it. */
export function requireDatabase(config: Config): void {
  if (config.database === undefined && !existsSync(paths.database(config))) {
    throw new ConfigError(`there is no database at ${paths.database(config)}; is this the right folder?`);
  }
}

/**
 * Opens stores exclusively and creates missing ones. `other`: a pair that may use the same folder. `anyStore`: skips the
 * check that the two belong together.
 */
export async function openAlone(
  config: Config,
  { other, anyStore = false }: { other?: Pair; anyStore?: boolean } = {},
): Promise<Pair> {
  const usesFolder = !isShared(config) && config.dataFolder !== other?.config.dataFolder;
  if (usesFolder) await mkdir(config.dataFolder, { recursive: true, mode: 0o700 });
  const unlock = usesFolder ? lockDataFolder(config) : () => undefined;
  await prepareStores(config, { anyStore });
  const right = new SweepLock(config);
  if (!(await right.acquire()))
    throw new UsageError('a server is running on that database; stop every node first');
  const pair = anyStore ? await openStores(config) : await openPair(config);
  return {
    ...pair,
    close: async () => {
      await pair.close();
      await right.release();
      unlock();
    },
  };
}
