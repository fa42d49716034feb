import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { SzafaError } from '../../errors.ts';
import type { Claims } from '../../upload/claims.ts';
import { makeLocalFolder } from '../files/folders.ts';
import { makeFile } from './whole-file.ts';

const ALIVE = '.alive';
/** SQLite's codes. */
const BUSY = 5;
const DAMAGED = new Set([11, 26]);
const TRANSACTION_MS = 5000;
const ATTEMPTS = 10;

/** Those with claims: a lock would end with an object that nobody remembers. */
const holding = new Set<FileClaims>();

const codeOf = (error: unknown) => (error as { errcode?: number }).errcode ?? 0;

interface Work {
  run: (db: DatabaseSync) => void;
  committed: () => void;
  done: () => void;
  failed: (error: unknown) => void;
}

/**
 * Claims of all processes that share a folder. Node has no call for the locks of the system; SQLite, which it brings
 * along, takes them. Each process that has claims holds a file of its own locked: the system takes the lock away
 * when the process ends, so a claim whose holder's file can be locked by another is nobody's. The claims themselves are rows.
 */
export class FileClaims implements Claims {
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
    await this.#soon((db) => {
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
    await this.#soon(take, () => {
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
    await this.#soon(release, () => {
      for (const key of all) this.#held.delete(key);
    });
  }

  /** What is asked for in one turn of the event loop goes in one transaction: there may be thousands of small files. */
  #soon(run: Work['run'], committed = () => {}): Promise<void> {
    return new Promise((done, failed) => {
      if (this.#queue.length === 0) setImmediate(() => this.#work());
      this.#queue.push({ run, committed, done, failed });
    });
  }

  #work(): void {
    const queue = this.#queue;
    this.#queue = [];
    try {
      const db = this.#open();
      db.exec('BEGIN IMMEDIATE');
      try {
        for (const { run } of queue) run(db);
        db.exec('COMMIT');
      } catch (error) {
        db.exec('ROLLBACK');
        throw error;
      }
      for (const { committed } of queue) committed();
      if (this.#held.size === 0) this.#leave();
      for (const { done } of queue) done();
    } catch (cause) {
      const error = cause instanceof SzafaError ? cause : this.#unusable(cause as NodeJS.ErrnoException);
      for (const { failed } of queue) failed(error);
    }
  }

  #unusable(cause: NodeJS.ErrnoException): SzafaError {
    const { message, code } = cause;
    const words = code === 'ERR_SQLITE_ERROR' ? message : (code ?? message);
    return new SzafaError('journal', `the journal ${this.#folder} cannot be used (${words})`, { cause });
  }

  /** Each file takes a claim and gives it back: to prepare the text takes longer than to run it. */
  #statement(db: DatabaseSync, text: string): StatementSync {
    let statement = this.#statements.get(text);
    statement ??= db.prepare(text);
    this.#statements.set(text, statement);
    return statement;
  }

  #open(): DatabaseSync {
    if (this.#db) return this.#db;
    makeLocalFolder(this.#folder, 0o700);
    try {
      this.#db = this.#connect();
    } catch (error) {
      if (!DAMAGED.has(codeOf(error))) throw error;
      // After a power cut. No process has survived that, so no claim is lost with it.
      for (const end of ['', '-journal']) rmSync(join(this.#folder, `claims.db${end}`), { force: true });
      this.#db = this.#connect();
    }
    for (const name of readdirSync(this.#folder)) if (name.endsWith(ALIVE)) this.#lives(name);
    return this.#db;
  }

  #connect(): DatabaseSync {
    const path = join(this.#folder, 'claims.db');
    makeFile(path);
    const db = new DatabaseSync(path, { timeout: TRANSACTION_MS });
    try {
      db.exec(`PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = OFF;
        CREATE TABLE IF NOT EXISTS claims (key TEXT PRIMARY KEY, holder TEXT NOT NULL) WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS journal (id TEXT NOT NULL)`);
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  }

  /** The name of this process's locked file. */
  #holder(): string {
    for (let attempt = 1; !this.#alive; attempt++) {
      const name = `${randomBytes(8).toString('hex')}${ALIVE}`;
      makeFile(join(this.#folder, name));
      const lock = lockFile(join(this.#folder, name));
      // Before it was locked, another process may have taken it for one whose owner is gone.
      if (lock && existsSync(join(this.#folder, name))) this.#alive = { name, lock };
      else if (attempt === ATTEMPTS) throw new Error('no lock');
      else lock?.close();
    }
    holding.add(this);
    return this.#alive.name;
  }

  /** Whether the process behind this file still runs; what is left of one that does not goes. */
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

/** Undefined where another process, or another part of this one, has it locked. */
function lockFile(path: string): DatabaseSync | undefined {
  const lock = new DatabaseSync(path, { timeout: 0 });
  try {
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock.close();
    if (codeOf(error) === BUSY) return undefined;
    throw error;
  }
}
