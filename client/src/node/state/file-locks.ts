import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { SzafaError } from '../../errors.ts';
import type { TransferLocks } from '../../transfers/upload/locks.ts';
import { createPrivateFile } from './atomic-file.ts';
import { inTransaction, openLocalDatabase, SQLITE, sqliteCode } from './sqlite.ts';

const ALIVE = '.alive';
const ATTEMPTS = 10;
const DATABASE = {
  timeout: 5000,
  // Damage follows a power failure. No process survives that, so replacing the file loses no lock.
  damaged: new Set<number>([SQLITE.corrupt, SQLITE.notADatabase]),
  schema: `CREATE TABLE IF NOT EXISTS claims (key TEXT PRIMARY KEY, holder TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS journal (id TEXT NOT NULL)`,
};

/** Keeps objects with locks reachable: garbage collection would close their databases and release the locks. */
const holding = new Set<FileLocks>();

interface Work {
  run: (db: DatabaseSync) => void;
  onCommit: () => void;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * Locks that processes share through a folder. Each lock is a database row with the name of its holder. Every holder keeps its own file
 * locked by SQLite, since Node has no file locks. The system releases that lock when the process ends, so a row is stale if its holder's
 * file can be locked.
 */
export class FileLocks implements TransferLocks {
  readonly #folder: string;
  readonly #held = new Set<string>();
  #db: DatabaseSync | undefined;
  #id: Promise<string> | undefined;
  readonly #statements = new Map<string, StatementSync>();
  #alive: { name: string; lock: DatabaseSync } | undefined;
  #queue: Work[] = [];

  constructor(folder: string) {
    this.#folder = folder;
  }

  id(): Promise<string> {
    this.#id ??= this.#findId().catch((error: unknown) => {
      this.#id = undefined;
      throw error;
    });
    return this.#id;
  }

  async #findId(): Promise<string> {
    let id = '';
    await this.#enqueue((db) => {
      db.prepare('INSERT INTO journal SELECT ? WHERE NOT EXISTS (SELECT 1 FROM journal)').run(
        randomBytes(8).toString('hex'),
      );
      id = String(db.prepare('SELECT id FROM journal').get()!['id']);
    });
    return id;
  }

  async take(keys: Iterable<string>): Promise<Set<string>> {
    const wanted = new Set(keys);
    const taken = new Set<string>();
    const take = (db: DatabaseSync) => {
      const me = this.#holder();
      const add = this.#statement(
        db,
        'INSERT INTO claims SELECT value, ? FROM json_each(?) WHERE true ON CONFLICT DO NOTHING RETURNING key',
      );
      const insert = (some: Iterable<string>) => {
        for (const row of add.all(me, JSON.stringify([...some]))) taken.add(String(row['key']));
      };
      insert(wanted);
      if (taken.size === wanted.size) return;
      const holderOf = this.#statement(db, 'SELECT holder FROM claims WHERE key = ?');
      const living = new Set([me]);
      for (const key of wanted) {
        if (taken.has(key)) continue;
        const holder = holderOf.get(key)?.['holder'];
        if (typeof holder === 'string') {
          if (living.has(holder)) continue;
          if (this.#lives(holder)) {
            living.add(holder);
            continue;
          }
          db.prepare('DELETE FROM claims WHERE holder = ?').run(holder);
        }
        insert([key]);
      }
    };
    await this.#enqueue(take, () => {
      for (const key of taken) this.#held.add(key);
    });
    return taken;
  }

  async release(keys: Iterable<string>): Promise<void> {
    const all = [...keys];
    const release = (db: DatabaseSync) => {
      const text = 'DELETE FROM claims WHERE holder = ? AND key IN (SELECT value FROM json_each(?))';
      this.#statement(db, text).run(this.#holder(), JSON.stringify(all));
    };
    await this.#enqueue(release, () => {
      for (const key of all) this.#held.delete(key);
    });
  }

  /** Collects the calls of one turn of the event loop in one transaction: there may be thousands of small files. */
  #enqueue(run: Work['run'], onCommit = () => {}): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#queue.length === 0) setImmediate(() => this.#work());
      this.#queue.push({ run, onCommit, resolve, reject });
    });
  }

  #work(): void {
    const queue = this.#queue;
    this.#queue = [];
    try {
      const db = this.#open();
      inTransaction(db, () => {
        for (const { run } of queue) run(db);
      });
      for (const { onCommit } of queue) onCommit();
      if (this.#held.size === 0) this.#leave();
      for (const { resolve } of queue) resolve();
    } catch (cause) {
      const error = cause instanceof SzafaError ? cause : this.#unusable(cause as NodeJS.ErrnoException);
      for (const { reject } of queue) reject(error);
    }
  }

  #unusable(cause: NodeJS.ErrnoException): SzafaError {
    const { message, code } = cause;
    const words = code === 'ERR_SQLITE_ERROR' ? message : (code ?? message);
    return new SzafaError('journal', `the journal ${this.#folder} cannot be used (${words})`, { cause });
  }

  /** Caches prepared statements: preparing takes longer than running, and every file locks and unlocks. */
  #statement(db: DatabaseSync, text: string): StatementSync {
    let statement = this.#statements.get(text);
    statement ??= db.prepare(text);
    this.#statements.set(text, statement);
    return statement;
  }

  #open(): DatabaseSync {
    if (this.#db) return this.#db;
    this.#db = openLocalDatabase(join(this.#folder, 'claims.db'), DATABASE);
    for (const name of readdirSync(this.#folder)) if (name.endsWith(ALIVE)) this.#lives(name);
    return this.#db;
  }

  /** Returns the name of this process's locked file, creating it if needed. */
  #holder(): string {
    for (let attempt = 1; !this.#alive; attempt++) {
      const name = `${randomBytes(8).toString('hex')}${ALIVE}`;
      createPrivateFile(join(this.#folder, name));
      const lock = lockFile(join(this.#folder, name));
      // Another process may have removed the file as stale before it was locked.
      if (lock && existsSync(join(this.#folder, name))) this.#alive = { name, lock };
      else if (attempt === ATTEMPTS) throw new Error('no lock');
      else lock?.close();
    }
    holding.add(this);
    return this.#alive.name;
  }

  /** Whether the process that holds this file still runs; removes the file if not. */
  #lives(name: string): boolean {
    const path = join(this.#folder, name);
    if (name === this.#alive?.name) return true;
    if (!existsSync(path)) return false;
    const lock = lockFile(path);
    if (!lock) return true;
    rmSync(path, { force: true });
    lock.close();
    return false;
  }

  #leave(): void {
    if (!this.#alive) return;
    rmSync(join(this.#folder, this.#alive.name), { force: true });
    this.#alive.lock.close();
    this.#alive = undefined;
    holding.delete(this);
  }
}

/** Locks a file. Returns undefined if another process, or another object in this one, has locked it. */
function lockFile(path: string): DatabaseSync | undefined {
  const lock = new DatabaseSync(path, { timeout: 0 });
  try {
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock.close();
    if (sqliteCode(error) === SQLITE.busy) return undefined;
    throw error;
  }
}
