import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Services } from './app.ts';
import type { Config } from './config.ts';
import { Accounts } from './domain/accounts.ts';
import { Files } from './domain/files.ts';
import { Pulls } from './domain/pulls.ts';
import { Transfers } from './domain/transfers.ts';
import { createLog } from './log.ts';
import { Metadata } from './metadata/metadata.ts';
import { SqliteStore } from './metadata/sqlite.ts';
import { FolderStore } from './volumes/folder.ts';

export const places = {
  database: (config: Config) => join(config.dataFolder, 'szafa.db'),
  lock: (config: Config) => join(config.dataFolder, 'lock.db'),
  systemToken: (config: Config) => join(config.dataFolder, 'system-token'),
};

/** The composition root: the only place that names the engines. */
export async function openServices(config: Config, processName: string): Promise<Services> {
  const log = createLog(config.logLevel);
  const metadata = new Metadata(new SqliteStore(places.database(config)));
  const volumes = new FolderStore(config.dataFolder, processName);
  const systemToken = config.systemToken ?? (await readFile(places.systemToken(config), 'utf8')).trim();
  const accounts = new Accounts(metadata, config, systemToken);
  const files = new Files(metadata, volumes, config);
  const transfers = new Transfers(metadata, volumes, config);
  const pulls = new Pulls({ metadata, volumes, transfers, config, runner: processName });
  return { config, log, metadata, volumes, accounts, files, transfers, pulls };
}

export const newProcessName = () => randomBytes(6).toString('hex');
