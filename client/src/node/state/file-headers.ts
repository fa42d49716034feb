import { createHash, hash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { HeaderCache, HeaderCaches, Listed } from '../../transfers/download/header-cache.ts';
import { makeLocalFolder } from '../files/folders.ts';
import { makeFile } from './whole-file.ts';

/** Two kilobytes each. Beyond it the oldest go. */
const MOST_HEADERS = 200_000;
const AT_ONCE = 1000;
/** How long another process is waited for; then its work is worth more than this cache. */
const BUSY_MS = 200;
/** SQLite's codes: another process has it; no table of this form, damaged, no database. */
const BUSY = 5;
const DAMAGED = new Set([1, 11, 26]);

const codeOf = (error: unknown) => (error as { errcode?: number }).errcode ?? 0;

interface Row {
  mark: string;
  params: string;
}

export interface FileHeadersOptions {
  most?: number | undefined;
}

/** Caches of headers, which `close` writes to their files. @public */
export interface FileHeaders extends HeaderCaches {
  close(): void;
}

/**
 * The record that a header was seen beside; a digest, since a plain name is nobody's business here. Of a plain name the directory is a
 * part: where another device moves the file, nothing else in the list changes.
 */
function markOf({ file_name, sha256, dir_id }: Listed): string {
  return hash('sha256', `${sha256} ${dir_id ?? 0} ${file_name}`, 'base64url');
}

/** The headers of the accounts of one service: a file for each account, with sealed bytes and digests. @public */
export function fileHeaders(folder: string, server: string, options: FileHeadersOptions = {}): FileHeaders {
  const opened: HeaderFile[] = [];
  return {
    of(username) {
      const id = createHash('sha256').update(JSON.stringify([server, username]));
      const path = join(folder, `headers-${id.digest('hex').slice(0, 32)}.db`);
      const file = new HeaderFile(path, options.most ?? MOST_HEADERS);
      opened.push(file);
      return file;
    },
    close() {
      for (const file of opened) file.close();
    },
  };
}

/**
 * One SQLite file, which processes may share. Nothing in it is waited for: it is not synced, new headers gather and go in together, and
 * at the first error this process does without it.
 */
class HeaderFile implements HeaderCache {
  readonly #path: string;
  readonly #most: number;
  #db: DatabaseSync | undefined;
  #select: StatementSync | undefined;
  #isReading = false;
  #broken = false;
  #unsaved: [file: Listed, params: string][] = [];

  constructor(path: string, most: number) {
    this.#path = path;
    this.#most = most;
  }

  load(file: Listed): Record<string, unknown> | undefined {
    return this.#try((db) => {
      this.#read(db);
      this.#select ??= db.prepare('SELECT mark, params FROM headers WHERE file_id = ?');
      const row = this.#select.get(file.file_id) as Row | undefined;
      return row?.mark === markOf(file) ? parse(row.params) : undefined;
    });
  }

  save(file: Listed, encParams: Record<string, unknown>): void {
    this.#unsaved.push([file, JSON.stringify(encParams)]);
    if (this.#unsaved.length >= AT_ONCE) this.#flush();
  }

  listed(dirId: number | undefined, files: readonly Listed[]): void {
    this.#write((db) => {
      const ids = new Set(files.map((file) => file.file_id));
      const there = db.prepare('SELECT file_id FROM headers WHERE ?1 IS NULL OR dir_id = ?1');
      const gone = there.all(dirId ?? null).filter((row) => !ids.has(String(row['file_id'])));
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
      // A row that is written again is a new one, so that the first are the oldest.
      const insert = db.prepare(
        'INSERT OR REPLACE INTO headers (file_id, dir_id, mark, params) VALUES (?, ?, ?, ?)',
      );
      for (const [file, params] of rows) insert.run(file.file_id, file.dir_id ?? 0, markOf(file), params);
      db.prepare('DELETE FROM headers WHERE rowid <= (SELECT max(rowid) FROM headers) - ?').run(this.#most);
    });
  }

  /** What is asked for in one turn of the event loop is read under one lock: there may be thousands of small files. */
  #read(db: DatabaseSync): void {
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
      db.exec('BEGIN IMMEDIATE');
      try {
        work(db);
        db.exec('COMMIT');
      } catch (error) {
        db.exec('ROLLBACK');
        throw error;
      }
    });
  }

  #try<T>(work: (db: DatabaseSync) => T): T | undefined {
    if (this.#broken) return undefined;
    try {
      this.#db ??= this.#open();
      return work(this.#db);
    } catch (error) {
      // Another process is writing: for once nothing is kept, or found.
      this.#broken = codeOf(error) !== BUSY;
      if (DAMAGED.has(codeOf(error))) this.#discard();
      return undefined;
    }
  }

  #open(): DatabaseSync {
    makeLocalFolder(dirname(this.#path), 0o700);
    try {
      return connect(this.#path);
    } catch (error) {
      if (!DAMAGED.has(codeOf(error))) throw error;
      this.#discard();
      return connect(this.#path);
    }
  }

  /** The next process begins anew. */
  #discard(): void {
    for (const end of ['', '-journal']) rmSync(`${this.#path}${end}`, { force: true });
  }
}

function connect(path: string): DatabaseSync {
  makeFile(path);
  const db = new DatabaseSync(path, { timeout: BUSY_MS });
  try {
    db.exec(`PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = OFF;
      CREATE TABLE IF NOT EXISTS headers (
        file_id TEXT UNIQUE NOT NULL, dir_id INTEGER NOT NULL, mark TEXT NOT NULL, params TEXT NOT NULL);
      CREATE INDEX IF NOT EXISTS headers_of_dir ON headers (dir_id, file_id);
      SELECT file_id, dir_id, mark, params FROM headers LIMIT 1`);
    return db;
  } catch (error) {
    db.close();
    throw error;
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
