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

/**
 * SQLite through Node's own module. Its calls are synchronous, so a transaction only ever waits on
 * microtasks; the queue keeps two of them from sharing the one writing connection, and readers have a
 * connection of their own so that they never see what is not committed.
 */
export class SqliteStore implements SqlStore {
  readonly dialect = dialect;
  readonly #reader: Connection;
  readonly #writer: Connection;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(path: string) {
    this.#writer = new Connection(path);
    this.#reader = new Connection(path);
  }

  async query<Row>(text: string, ...params: Value[]): Promise<Row[]> {
    return this.#reader.all<Row>(text, params);
  }

  execute<Row>(text: string, ...params: Value[]): Promise<Row[]> {
    return this.#exclusive(async () => this.#writer.all<Row>(text, params));
  }

  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#exclusive(async () => {
      this.#writer.exec('BEGIN IMMEDIATE');
      try {
        const result = await work(this.#inside());
        this.#writer.exec('COMMIT');
        return result;
      } catch (error) {
        // A full or failing disk has rolled back by itself.
        if (this.#writer.inTransaction) this.#writer.exec('ROLLBACK');
        throw error;
      }
    });
  }

  async close(): Promise<void> {
    await this.#exclusive(async () => {
      this.#reader.close();
      this.#writer.close();
    });
  }

  #inside(): Sql {
    const run = async <Row>(text: string, ...params: Value[]) => this.#writer.all<Row>(text, params);
    const inside: Sql = { dialect, query: run, execute: run, transaction: (work) => work(inside) };
    return inside;
  }

  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(work);
    this.#queue = result.catch(() => {
      // The caller gets this error from `result`; the queue only waits for its end.
    });
    return result;
  }
}
