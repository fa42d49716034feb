import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { Dialect, Sql, SqlStore, Value } from './sql.ts';

const dialect: Dialect = {
  serial: 'INTEGER PRIMARY KEY AUTOINCREMENT',
  clustered: 'WITHOUT ROWID',
  forUpdate: '',
};

/** Other processes hold the write lock for milliseconds; this is only the bound. */
const BUSY_MS = 20_000;

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

  exec(text: string): void {
    this.#database.exec(text);
  }

  all<Row>(text: string, params: Value[]): Row[] {
    let statement = this.#statements.get(text);
    if (!statement) {
      statement = this.#database.prepare(text);
      this.#statements.set(text, statement);
    }
    return statement.all(...params) as Row[];
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
        this.#writer.exec('ROLLBACK');
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
