import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeLocalFolder } from '../files/folders.ts';
import { createPrivateFile } from './atomic-file.ts';

/** SQLite's result codes. */
export const SQLITE = { error: 1, busy: 5, corrupt: 11, notADatabase: 26 } as const;

export const sqliteCode = (error: unknown) => (error as { errcode?: number }).errcode ?? 0;

export interface LocalDatabaseOptions {
  /** Milliseconds to wait for another process. */
  timeout: number;
  schema: string;
  /** Error codes that mean a damaged file, which is then replaced. */
  damaged: ReadonlySet<number>;
}

/** Opens a private database that processes share. Not synced: its content need not survive a power failure. */
export function openLocalDatabase(path: string, options: LocalDatabaseOptions): DatabaseSync {
  makeLocalFolder(dirname(path), 0o700);
  try {
    return connect(path, options);
  } catch (error) {
    if (!options.damaged.has(sqliteCode(error))) throw error;
    removeDatabase(path);
    return connect(path, options);
  }
}

export function removeDatabase(path: string): void {
  for (const suffix of ['', '-journal']) rmSync(`${path}${suffix}`, { force: true });
}

function connect(path: string, { timeout, schema }: LocalDatabaseOptions): DatabaseSync {
  createPrivateFile(path);
  const db = new DatabaseSync(path, { timeout });
  try {
    db.exec(`PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = OFF; ${schema}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Runs `work` in a write transaction. */
export function inTransaction(db: DatabaseSync, work: () => void): void {
  db.exec('BEGIN IMMEDIATE');
  try {
    work();
    db.exec('COMMIT');
  } catch (error) {
    db.exec('ROLLBACK');
    throw error;
  }
}
