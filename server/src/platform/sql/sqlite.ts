import { closeSync, fdatasync, openSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Dialect, type Sql, type SqlStore, StorageFault, type Value } from './sql.ts';

const datasync = promisify(fdatasync);

const dialect: Dialect = {
  serial: 'INTEGER PRIMARY KEY AUTOINCREMENT',
  clustered: 'WITHOUT ROWID',
  forUpdate: '',
  forShare: '',
  jsonList: 'SELECT value FROM json_each(?)',
  inJsonList: 'IN (SELECT value FROM json_each(?))',
  // SQLite runs one writing transaction at a time.
  migrationLock: 'SELECT 1',
  tables: "SELECT name FROM sqlite_master WHERE type = 'table'",
  namedLock: 'SELECT ?',
};

/** Upper bound: other processes hold the write lock only for milliseconds. */
const BUSY_MS = 20_000;
/** SQLITE_BUSY */
export const BUSY = 5;
const QUICK_TURNS = 20;

/** SQLite errors caused by the disk: read-only, I/O error, full, cannot open. */
const FAULTS: Record<number, string> = { 8: 'EROFS', 10: 'EIO', 13: 'ENOSPC', 14: 'EIO' };

function translate(error: unknown): unknown {
  // The low byte is the primary result code.
  const code = FAULTS[(error as { errcode?: number }).errcode! & 0xff];
  return code === undefined ? error : new StorageFault(code, error as Error);
}

/**
 * A prepared statement. Rows are read as arrays, because Node's row objects are slow. The column names are cached, so
 * statements must not use `*`, which could change with a migration.
 */
interface Prepared {
  statement: StatementSync;
  columns: string[];
  /** Template of a row: copying it gives all rows the same hidden class. */
  blank: Record<string, Value>;
}

class Connection {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, Prepared>();

  constructor(path: string) {
    this.#database = new DatabaseSync(path, { timeout: BUSY_MS });
    const [mode] = this.all<{ journal_mode: string }>('PRAGMA journal_mode = WAL', []);
    // NORMAL keeps the file consistent after a power cut; `WriteAheadLog` makes commits durable.
    this.run(`PRAGMA synchronous = ${mode?.journal_mode === 'wal' ? 'NORMAL' : 'FULL'}`);
    this.run('PRAGMA cache_size = -16384');
  }

  get inTransaction(): boolean {
    return this.#database.isTransaction;
  }

  /** Number of rows changed so far, including changes that were rolled back. */
  get changes(): number {
    return this.all<{ changes: number }>('SELECT total_changes() AS changes', [])[0]!.changes;
  }

  /** Changes whenever any other connection commits, in any process. */
  get version(): number {
    return this.all<{ data_version: number }>('PRAGMA data_version', [])[0]!.data_version;
  }

  all<Row>(text: string, params: Value[]): Row[] {
    try {
      const { statement, columns, blank } = this.#prepared(text);
      return (statement.all(...params) as unknown as Value[][]).map((values) => {
        const row = { ...blank };
        for (let at = 0; at < columns.length; at++) row[columns[at]!] = values[at]!;
        return row as Row;
      });
    } catch (error) {
      throw translate(error);
    }
  }

  run(text: string): void {
    try {
      this.#prepared(text).statement.run();
    } catch (error) {
      throw translate(error);
    }
  }

  #prepared(text: string): Prepared {
    let prepared = this.#statements.get(text);
    if (!prepared) {
      const statement = this.#database.prepare(text);
      statement.setReturnArrays(true);
      const columns = statement.columns().map(({ name }) => name);
      prepared = { statement, columns, blank: Object.fromEntries(columns.map((name) => [name, null])) };
      this.#statements.set(text, prepared);
    }
    return prepared;
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }
}

/** Syncs SQLite's write-ahead log. */
class WriteAheadLog {
  readonly #sync: () => Promise<void>;
  #fd: number | undefined;
  #running: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(path: string) {
    this.#sync = async () => {
      try {
        this.#fd ??= openSync(path, 'r');
        await datasync(this.#fd);
      } catch (error) {
        const { code = 'EIO' } = error as NodeJS.ErrnoException;
        // If the file is missing, nothing has been written yet.
        if (code !== 'ENOENT') throw new StorageFault(code, error as Error);
      }
    };
  }

  /** Resolves when everything written before the call is on disk. All waiting callers share one sync. */
  synced(): Promise<void> {
    this.#next ??= this.#running
      .catch(() => undefined /* its callers got the error */)
      .then(() => {
        this.#running = this.#next!;
        this.#next = undefined;
        return this.#sync();
      });
    return this.#next;
  }

  async close(): Promise<void> {
    await this.synced().catch(() => undefined /* its callers got the error */);
    if (this.#fd !== undefined) closeSync(this.#fd);
  }
}

interface Job {
  work: (sql: Sql) => Promise<unknown>;
  resolve: (value: never) => void;
  reject: (error: unknown) => void;
}

const JOBS_AT_ONCE = 64;

/**
 * SQLite through node:sqlite, whose calls are synchronous. A queue gives the single writing connection to one transaction at
 * a time; reads have their own connection and see only committed data. Transactions that wait at the same time are committed
 * together, each in its own savepoint. The disk does not block the event loop: a commit is written to the log, and reported
 * once the log is on disk.
 */
export class SqliteStore implements SqlStore {
  readonly dialect = dialect;
  readonly #reader: Connection;
  readonly #writer: Connection;
  readonly #log: WriteAheadLog;
  /** Set if the log may be incomplete on disk. */
  #logSyncFailed = false;
  /** The writer's `changes` at the last commit. */
  #changes = 0;
  /** The reader's `version` that is known to be on disk. */
  #durable: number | undefined;
  #jobs: Job[] = [];
  #running: Promise<void> | undefined;

  constructor(path: string) {
    this.#writer = new Connection(path);
    // SQLite would block the whole process until the lock is free; #begin waits instead.
    this.#writer.run('PRAGMA busy_timeout = 0');
    this.#reader = new Connection(path);
    this.#log = new WriteAheadLog(`${path}-wal`);
  }

  async query<Row>(text: string, ...params: Value[]): Promise<Row[]> {
    return this.#reader.all<Row>(text, params);
  }

  execute<Row>(text: string, ...params: Value[]): Promise<Row[]> {
    return this.transaction((sql) => sql.execute<Row>(text, ...params));
  }

  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const result = new Promise<T>((resolve, reject) => this.#jobs.push({ work, resolve, reject }));
    this.#running ??= this.#run();
    return result;
  }

  async close(): Promise<void> {
    await this.#running;
    await this.#log.close();
    this.#reader.close();
    this.#writer.close();
  }

  async #run(): Promise<void> {
    while (this.#jobs.length > 0) {
      // Lets all transactions of this turn of the event loop gather.
      await setImmediate();
      await this.#commit(this.#jobs.splice(0, JOBS_AT_ONCE));
    }
    this.#running = undefined;
  }

  async #begin(): Promise<void> {
    // The other process usually needs a fraction of a millisecond; use a timer only after that.
    for (let since = Date.now(), turn = 0; ; await (turn++ < QUICK_TURNS ? setImmediate() : setTimeout(1))) {
      try {
        return this.#writer.run('BEGIN IMMEDIATE');
      } catch (error) {
        const busy = (error as { errcode?: number }).errcode === BUSY;
        if (!busy || Date.now() - since > BUSY_MS) throw error;
      }
    }
  }

  async #commit(jobs: Job[]): Promise<void> {
    const outcomes: (() => void)[] = [];
    let wrote: boolean;
    try {
      if (this.#logSyncFailed) this.#startNewLog();
      await this.#begin();
      for (const job of jobs) outcomes.push(await this.#do(job));
      const { changes } = this.#writer;
      wrote = changes !== this.#changes;
      this.#changes = changes;
      this.#writer.run('COMMIT');
    } catch (error) {
      // After a disk error, SQLite has already rolled back.
      if (this.#writer.inTransaction) this.#writer.run('ROLLBACK');
      for (const job of jobs) job.reject(error);
      return;
    }
    const durable = wrote ? this.#log.synced() : this.#makeReadsDurable();
    durable.then(
      () => {
        for (const report of outcomes) report();
      },
      (error: Error) => {
        this.#logSyncFailed = true;
        for (const job of jobs) job.reject(error);
      },
    );
  }

  /**
   * Called after transactions that wrote nothing: they may have read commits of another process that are not on disk yet. If
   * there are no new commits, no sync is made, so that the disk of an idle server can sleep.
   */
  async #makeReadsDurable(): Promise<void> {
    const { version } = this.#reader;
    if (version === this.#durable) return;
    await this.#log.synced();
    this.#durable = version;
  }

  /** Called after a failed sync: moves the log's content into the database file, which SQLite syncs, and starts a new log. */
  #startNewLog(): void {
    const [result] = this.#writer.all<{ busy: number }>('PRAGMA wal_checkpoint(TRUNCATE)', []);
    if (result?.busy !== 0) throw new StorageFault('EIO', new Error('the log is not on disk'));
    this.#logSyncFailed = false;
  }

  /** Runs a job in a savepoint. Returns a function that reports its result, to be called once everything is on disk. */
  async #do({ work, resolve, reject }: Job): Promise<() => void> {
    this.#writer.run('SAVEPOINT job');
    try {
      const value = await work(this.#transactionSql());
      this.#writer.run('RELEASE job');
      return () => resolve(value as never);
    } catch (error) {
      if (!this.#writer.inTransaction) throw error;
      this.#writer.run('ROLLBACK TO job');
      this.#writer.run('RELEASE job');
      return () => reject(error);
    }
  }

  #transactionSql(): Sql {
    const run = async <Row>(text: string, ...params: Value[]) => this.#writer.all<Row>(text, params);
    const inside: Sql = { dialect, query: run, execute: run, transaction: (work) => work(inside) };
    return inside;
  }
}
