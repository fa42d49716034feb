/** SQL fragments that differ between the engines. */
export interface Dialect {
  /** An automatically numbered primary key column. */
  serial: string;
  /** Ends CREATE TABLE for a table stored in the order of its key. */
  clustered: string;
  /** Ends a SELECT that locks its rows until the transaction ends. */
  forUpdate: string;
  /** Like `forUpdate` with a shared lock: only changes wait. */
  forShare: string;
  /** Subquery that selects the strings in a JSON array parameter. */
  jsonList: string;
  /** Condition that a column equals one of the strings in a JSON array parameter. Can use an index. */
  inJsonList: string;
  /** Statement that takes the migration lock until the transaction ends. */
  migrationLock: string;
  /** Statement that lists the tables. */
  tables: string;
  /** Statement that takes a named lock until the transaction ends; see `takeNamedLock`. */
  namedLock: string;
}

export type Value = string | number | null;

/**
 * A thin layer over an SQL engine. Parameters are `?`. Every statement text is prepared once and cached, so texts must be
 * constants. `query` only reads; `execute` may write and returns the RETURNING columns.
 */
export interface Sql {
  readonly dialect: Dialect;
  query<Row>(text: string, ...params: Value[]): Promise<Row[]>;
  execute<Row>(text: string, ...params: Value[]): Promise<Row[]>;
  /** Commits all changes of `work` or none. `work` must use only the `Sql` passed to it. */
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
}

/** Base class for groups of related statements. */
export abstract class Queries<Engine extends Sql = Sql> {
  protected readonly sql: Engine;

  constructor(sql: Engine) {
    this.sql = sql;
  }
}

/** The first row of a query. */
export async function first<Row>(sql: Sql, text: string, ...params: Value[]): Promise<Row | undefined> {
  return (await sql.query<Row>(text, ...params))[0];
}

/** Whether a query returns any row. */
export async function exists(sql: Sql, text: string, ...params: Value[]): Promise<boolean> {
  return (await sql.query(text, ...params)).length > 0;
}

/** An INSERT with a parameter for each column, in this order. */
export const insertInto = (table: string, columns: readonly string[]) =>
  `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`;

/** A condition on a nullable column, and its parameters. */
export const equalsNullable = (expected: string | undefined): [text: string, values: string[]] =>
  expected === undefined ? ['IS NULL', []] : ['= ?', [expected]];

/** Counting stops here to stay cheap. */
export const COUNT_LIMIT = 100_000;

/** Counts rows, up to COUNT_LIMIT. `from` is the text after FROM. */
export async function countUpToLimit(sql: Sql, from: string, ...params: Value[]): Promise<number> {
  const text = `SELECT COUNT(*) AS count FROM (SELECT 1 FROM ${from} LIMIT ${COUNT_LIMIT}) AS found`;
  const [row] = await sql.query<{ count: number }>(text, ...params);
  return row!.count;
}

/** Takes a named lock until the transaction ends. */
export async function takeNamedLock(tx: Sql, name: string): Promise<void> {
  await tx.execute(tx.dialect.namedLock, name);
}

/** Thrown in a transaction to roll it back; `rollbackReason` turns it into a result. */
export class Rollback<Why extends string> extends Error {
  readonly why: Why;

  constructor(why: Why) {
    super(why);
    this.why = why;
  }
}

export function rollbackReason<Why extends string>(error: unknown): Why {
  if (error instanceof Rollback) return error.why;
  throw error;
}

/** The engine could not read or write its files. Has the fields of a system error, because it is caused by one. */
export class StorageFault extends Error {
  override name = 'StorageFault';
  readonly code: string;
  readonly syscall = 'database';

  constructor(code: string, cause: Error) {
    super(`${code}: ${cause.message}`, { cause });
    this.code = code;
  }
}

export interface PoolLoad {
  total: number;
  idle: number;
  /** Requests waiting for a connection. */
  waiting: number;
}

export interface SqlStore extends Sql {
  readonly load?: PoolLoad;
  /** Called once before the first use: sets up the engine, and refuses one that could lose data. */
  prepare?(): Promise<void>;
  /** Call this after inserting rows with explicit numbers, so that new rows get higher ones. */
  advanceSerials?(): Promise<void>;
  close(): Promise<void>;
}

/** A lock held by one process and lost when the process exits. */
export interface Lock {
  /** Asks the engine whether the lock is still held. */
  confirm(): Promise<boolean>;
  release(): Promise<void>;
}
