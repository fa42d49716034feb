import { hash } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { HeaderCache, HeaderCaches, Listed } from '../../transfers/download/header-cache.ts';
import { namedFile } from './pins.ts';
import { inTransaction, openLocalDatabase, removeDatabase, SQLITE, sqliteCode } from './sqlite.ts';

/** Each takes two kilobytes. Beyond this number the oldest are dropped. */
const MOST_HEADERS = 200_000;
const BATCH = 1000;
const DAMAGED: ReadonlySet<number> = new Set([SQLITE.error, SQLITE.corrupt, SQLITE.notADatabase]);
const DATABASE = {
  // Give up soon rather than delay work: this is only a cache.
  timeout: 200,
  damaged: DAMAGED,
  schema: `CREATE TABLE IF NOT EXISTS headers (
      file_id TEXT UNIQUE NOT NULL, dir_id INTEGER NOT NULL, mark TEXT NOT NULL, params TEXT NOT NULL);
    CREATE INDEX IF NOT EXISTS headers_of_dir ON headers (dir_id, file_id);
    SELECT file_id, dir_id, mark, params FROM headers LIMIT 1`,
};

export interface FileHeadersOptions {
  most?: number | undefined;
}

/** @public */
export interface FileHeaders extends HeaderCaches {
  /** Writes headers that are not saved yet. */
  close(): void;
}

/**
 * Identifies the record that a header belongs to. It is a digest because a plain name is private. It includes the directory because
 * nothing else in the list changes if another device moves a file with a plain name.
 */
function markOf({ file_name, sha256, dir_id }: Listed): string {
  return hash('sha256', `${sha256} ${dir_id ?? 0} ${file_name}`, 'base64url');
}

/** Caches the sealed headers of one server's accounts, in one file per account. @public */
export function fileHeaders(folder: string, server: string, options: FileHeadersOptions = {}): FileHeaders {
  const opened: ReturnType<typeof headerFile>[] = [];
  return {
    of(username) {
      const path = namedFile(folder, 'headers', [server, username], 'db');
      const file = headerFile(path, options.most ?? MOST_HEADERS);
      opened.push(file);
      return file;
    },
    close() {
      for (const file of opened) file.close();
    },
  };
}

/** Opens one SQLite file. Writes new headers in batches. After the first error, this process works without the cache. */
function headerFile(path: string, most: number): HeaderCache & { close(): void } {
  let db: DatabaseSync | undefined;
  let select: StatementSync | undefined;
  let isReading = false;
  let isBroken = false;
  let unsaved: [file: Listed, params: string][] = [];

  const attempt = <T>(work: (db: DatabaseSync) => T): T | undefined => {
    if (isBroken) return undefined;
    try {
      db ??= openLocalDatabase(path, DATABASE);
      return work(db);
    } catch (error) {
      // If another process is writing, only this call is skipped.
      isBroken = sqliteCode(error) !== SQLITE.busy;
      if (DAMAGED.has(sqliteCode(error))) removeDatabase(path);
      return undefined;
    }
  };

  /** Runs all reads of one turn of the event loop under one lock: there may be thousands of small files. */
  const beginRead = (db: DatabaseSync) => {
    if (isReading) return;
    db.exec('BEGIN');
    isReading = true;
    setImmediate(() => attempt(endRead));
  };
  const endRead = () => {
    if (!isReading) return;
    isReading = false;
    db?.exec('COMMIT');
  };
  const write = (work: (db: DatabaseSync) => void) => {
    attempt((db) => {
      endRead();
      inTransaction(db, () => work(db));
    });
  };
  const flush = () => {
    const rows = unsaved;
    unsaved = [];
    write((db) => {
      // Replacing a row gives it a new rowid, so the lowest rowids are the oldest.
      const insert = db.prepare(
        'INSERT OR REPLACE INTO headers (file_id, dir_id, mark, params) VALUES (?, ?, ?, ?)',
      );
      for (const [file, params] of rows) insert.run(file.file_id, file.dir_id ?? 0, markOf(file), params);
      db.prepare('DELETE FROM headers WHERE rowid <= (SELECT max(rowid) FROM headers) - ?').run(most);
    });
  };

  return {
    load: (file) =>
      attempt((db) => {
        beginRead(db);
        select ??= db.prepare('SELECT mark, params FROM headers WHERE file_id = ?');
        const row = select.get(file.file_id) as { mark: string; params: string } | undefined;
        return row?.mark === markOf(file) ? parse(row.params) : undefined;
      }),

    save(file, encParams) {
      unsaved.push([file, JSON.stringify(encParams)]);
      if (unsaved.length >= BATCH) flush();
    },

    listed(dirId, files) {
      write((db) => {
        const ids = new Set(files.map((file) => file.file_id));
        const cached = db.prepare('SELECT file_id FROM headers WHERE ?1 IS NULL OR dir_id = ?1');
        const gone = cached.all(dirId ?? null).filter((row) => !ids.has(String(row['file_id'])));
        const remove = db.prepare('DELETE FROM headers WHERE file_id = ?');
        for (const row of gone) remove.run(String(row['file_id']));
      });
    },

    close() {
      if (unsaved.length > 0) flush();
      attempt(endRead);
      db?.close();
      db = undefined;
      select = undefined;
    },
  };
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const params: unknown = JSON.parse(text);
    return typeof params === 'object' && params !== null ? (params as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
