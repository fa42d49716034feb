import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { type Dialect, type Sql, type SqlStore, StorageFault, type Value } from './sql.ts';

const dialect: Dialect = {
  serial: 'INTEGER PRIMARY KEY AUTOINCREMENT',
  clustered: 'WITHOUT ROWID',
  forUpdate: '',
  // A transaction is alone in any case.
  alone: 'SELECT 1',
};

/** Other processes hold the write lock for milliseconds; this is only the bound. */
const BUSY_MS = 20_000;

/** Results of SQLite behind which the disk stands: read-only, I/O error, full, cannot open. */
const FAULTS: Record<number, string> = { 8: 'EROFS', 10: 'EIO', 13: 'ENOSPC', 14: 'EIO' };

function translate(error: unknown): unknown {
  // The low byte is the result; the rest tells its variety.
  const code = FAULTS[(error as { errcode?: number }).errcode! & 0xff];
  return code === undefined ? error : new StorageFault(code, error as Error);
}

class Connection {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(path: string) {
    this.#database = new DatabaseSync(path, { timeout: BUSY_MS });
    // FULL: a commit is on disk when it returns, also after a power cut.
    this.exec('PRAGMA journal_mode = WAL');
    this.exec('PRAGMA synchronous = FULL');
    this.exec('PRAGMA cache_size = -16384');
  }

  get inTransaction(): boolean {
    return this.#database.isTransaction;
  }

  exec(text: string): void {
    try {
      this.#database.exec(text);
    } catch (error) {
      throw translate(error);
    }
  }

  all<Row>(text: string, params: Value[]): Row[] {
    try {
      let statement = this.#statements.get(text);
      if (!statement) {
        statement = this.#database.prepare(text);
        this.#statements.set(text, statement);
      }
      return statement.all(...params) as Row[];
    } catch (error) {
      throw translate(error);
    }
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }
}

interface Job {
  work: (sql: Sql) => Promise<unknown>;
  resolve: (value: never) => void;
  reject: (error: unknown) => void;
}

const JOBS_AT_ONCE = 64;

/**
 * SQLite through Node's own module. Its calls are synchronous, so a transaction only ever waits on
 * microtasks; the queue keeps two of them from sharing the one writing connection, and readers have a
 * connection of their own so that they never see what is not committed. Transactions that wait at the same time are
 * committed together, each in a savepoint of its own: the disk is waited for once.
 */
export class SqliteStore implements SqlStore {
  readonly dialect = dialect;
  readonly #reader: Connection;
  readonly #writer: Connection;
  #jobs: Job[] = [];
  #running: Promise<void> | undefined;

  constructor(path: string) {
    this.#writer = new Connection(path);
    this.#reader = new Connection(path);
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
    this.#reader.close();
    this.#writer.close();
  }

  async #run(): Promise<void> {
    while (this.#jobs.length > 0) {
      // Whoever arrives in this turn of the event loop comes along.
      await new Promise((resolve) => setImmediate(resolve));
      await this.#commit(this.#jobs.splice(0, JOBS_AT_ONCE));
    }
    this.#running = undefined;
  }

  async #commit(jobs: Job[]): Promise<void> {
    const outcomes: (() => void)[] = [];
    try {
      this.#writer.exec('BEGIN IMMEDIATE');
      for (const job of jobs) outcomes.push(await this.#do(job));
      this.#writer.exec('COMMIT');
    } catch (error) {
      // A full or failing disk has rolled back by itself.
      if (this.#writer.inTransaction) this.#writer.exec('ROLLBACK');
      for (const job of jobs) job.reject(error);
      return;
    }
    for (const tell of outcomes) tell();
  }

  /** What to tell the caller once everything is on disk. */
  async #do({ work, resolve, reject }: Job): Promise<() => void> {
    this.#writer.exec('SAVEPOINT job');
    try {
      const value = await work(this.#inside());
      this.#writer.exec('RELEASE job');
      return () => resolve(value as never);
    } catch (error) {
      if (!this.#writer.inTransaction) throw error;
      this.#writer.exec('ROLLBACK TO job');
      this.#writer.exec('RELEASE job');
      return () => reject(error);
    }
  }

  #inside(): Sql {
    const run = async <Row>(text: string, ...params: Value[]) => this.#writer.all<Row>(text, params);
    const inside: Sql = { dialect, query: run, execute: run, transaction: (work) => work(inside) };
    return inside;
  }
}
