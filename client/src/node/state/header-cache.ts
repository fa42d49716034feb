import { hash } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { HeaderCache, HeaderCaches, Listed } from '../../transfers/download/header-cache.ts';
import { namedFile } from './pins.ts';
import { inTransaction, openLocalDatabase, removeDatabase, SQLITE, sqliteCode } from './sqlite.ts';

/** At two kilobytes each. Beyond this number the oldest are dropped. */
const MOST_HEADERS = 200_000;
const BATCH = 1000;
const DAMAGED: ReadonlySet<number> = new Set([SQLITE.error, SQLITE.corrupt, SQLITE.notADatabase]);
const DATABASE = {
  // The work of another process is worth more than this cache.
  timeout: 200,
  damaged: DAMAGED,
  schema: `CREATE TABLE IF NOT EXISTS headers (
      file_id TEXT UNIQUE NOT NULL, dir_id INTEGER NOT NULL, mark TEXT NOT NULL, params TEXT NOT NULL);
    CREATE INDEX IF NOT EXISTS headers_of_dir ON headers (dir_id, file_id);
    SELECT file_id, dir_id, mark, params FROM headers LIMIT 1`,
};

interface Row {
  mark: string;
  params: string;
}

export interface FileHeadersOptions {
  most?: number | undefined;
}

/** @public */
export interface FileHeaders extends HeaderCaches {
  /** Writes what is not saved yet. */
  close(): void;
}

/**
 * Identifies the record that a header belongs to, by a digest, since a plain name is private. It includes the directory: if another
 * device moves a file with a plain name, nothing else in the list changes.
 */
function markOf({ file_name, sha256, dir_id }: Listed): string {
  return hash('sha256', `${sha256} ${dir_id ?? 0} ${file_name}`, 'base64url');
}

/** Caches the sealed headers of one server's accounts, one file for each account. @public */
export function fileHeaders(folder: string, server: string, options: FileHeadersOptions = {}): FileHeaders {
  const opened: HeaderFile[] = [];
  return {
    of(username) {
      const path = namedFile(folder, 'headers', [server, username], 'db');
      const file = new HeaderFile(path, options.most ?? MOST_HEADERS);
      opened.push(file);
      return file;
    },
    close() {
      for (const file of opened) file.close();
    },
  };
}

/** One SQLite file. New headers are written in batches, and after the first error this process works without the cache. */
class HeaderFile implements HeaderCache {
  readonly #path: string;
  readonly #most: number;
  #db: DatabaseSync | undefined;
  #select: StatementSync | undefined;
  #isReading = false;
  #isBroken = false;
  #unsaved: [file: Listed, params: string][] = [];

  constructor(path: string, most: number) {
    this.#path = path;
    this.#most = most;
  }

  load(file: Listed): Record<string, unknown> | undefined {
    return this.#try((db) => {
      this.#beginRead(db);
      this.#select ??= db.prepare('SELECT mark, params FROM headers WHERE file_id = ?');
      const row = this.#select.get(file.file_id) as Row | undefined;
      return row?.mark === markOf(file) ? parse(row.params) : undefined;
    });
  }

  save(file: Listed, encParams: Record<string, unknown>): void {
    this.#unsaved.push([file, JSON.stringify(encParams)]);
    if (this.#unsaved.length >= BATCH) this.#flush();
  }

  listed(dirId: number | undefined, files: readonly Listed[]): void {
    this.#write((db) => {
      const ids = new Set(files.map((file) => file.file_id));
      const cached = db.prepare('SELECT file_id FROM headers WHERE ?1 IS NULL OR dir_id = ?1');
      const gone = cached.all(dirId ?? null).filter((row) => !ids.has(String(row['file_id'])));
      const remove = db.prepare('DELETE FROM headers WHERE file_id = ?');
      for (const row of gone) remove.run(String(row['file_id']));
    });
  }

  close(): void {
    if (this.#unsaved.length > 0) this.#flush();
    this.#try(() => this.#endRead());
    this.#db?.close();
    this.#db = undefined;
    this.#select = undefined;
  }

  #flush(): void {
    const rows = this.#unsaved;
    this.#unsaved = [];
    this.#write((db) => {
      // Replacing gives a new rowid, so the lowest are the oldest.
      const insert = db.prepare(
        'INSERT OR REPLACE INTO headers (file_id, dir_id, mark, params) VALUES (?, ?, ?, ?)',
      );
      for (const [file, params] of rows) insert.run(file.file_id, file.dir_id ?? 0, markOf(file), params);
      db.prepare('DELETE FROM headers WHERE rowid <= (SELECT max(rowid) FROM headers) - ?').run(this.#most);
    });
  }

  /** Reads of one turn of the event loop share a lock: there may be thousands of small files. */
  #beginRead(db: DatabaseSync): void {
    if (this.#isReading) return;
    db.exec('BEGIN');
    this.#isReading = true;
    setImmediate(() => this.#try(() => this.#endRead()));
  }

  #endRead(): void {
    if (!this.#isReading) return;
    this.#isReading = false;
    this.#db?.exec('COMMIT');
  }

  #write(work: (db: DatabaseSync) => void): void {
    this.#try((db) => {
      this.#endRead();
      inTransaction(db, () => work(db));
    });
  }

  #try<T>(work: (db: DatabaseSync) => T): T | undefined {
    if (this.#isBroken) return undefined;
    try {
      this.#db ??= openLocalDatabase(this.#path, DATABASE);
      return work(this.#db);
    } catch (error) {
      // If another process is writing, only this call goes without the cache.
      this.#isBroken = sqliteCode(error) !== SQLITE.busy;
      if (DAMAGED.has(sqliteCode(error))) removeDatabase(this.#path);
      return undefined;
    }
  }
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const params: unknown = JSON.parse(text);
    return typeof params === 'object' && params !== null ? (params as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
