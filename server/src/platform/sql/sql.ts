/** What differs between the SQL engines, as fragments that the shared statements are written with. */
export interface Dialect {
  /** Column that numbers rows by itself and is the primary key. */
  serial: string;
  /** Ending of a table that is stored in the order of its key. */
  clustered: string;
  /** Ending of a SELECT that locks the rows it reads until the transaction ends. */
  forUpdate: string;
  /** The same, but others may lock them so as well; only who would change them waits. */
  forShare: string;
  /** SELECT of the texts in a parameter that is a JSON array of them. */
  listed: string;
  /** Condition that a column is one of these, which finds them by an index, however many rows there are. */
  amongListed: string;
  /** Statement after which no other transaction passes the same one until this one ends. */
  alone: string;
  /** Statement that tells the name of each table. */
  tables: string;
  /** The same for one name, which is its parameter; see `hold`. */
  hold: string;
}

export type Value = string | number | null;

/**
 * A thin layer over one SQL engine. Statements use `?` for parameters and are prepared once for each text,
 * so texts are constants. `query` only reads; `execute` may write and returns what RETURNING names.
 */
export interface Sql {
  readonly dialect: Dialect;
  query<Row>(text: string, ...params: Value[]): Promise<Row[]>;
  execute<Row>(text: string, ...params: Value[]): Promise<Row[]>;
  /** All or nothing; `work` uses only the `Sql` it is given. */
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
}

/** Statements that belong together, on one engine. */
export abstract class Queries<Engine extends Sql = Sql> {
  protected readonly sql: Engine;

  constructor(sql: Engine) {
    this.sql = sql;
  }
}

/** Inserts a row whose values come in the order of these columns. */
export const insertInto = (table: string, columns: readonly string[]) =>
  `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`;

/** The rest of a condition on a column that may be NULL, with its values. */
export const isSame = (expected: string | undefined): [text: string, values: string[]] =>
  expected === undefined ? ['IS NULL', []] : ['= ?', [expected]];

/** More than this is not counted: whoever watches a number that high knows enough. */
export const COUNTED = 100_000;

/** How many rows there are of what follows FROM. */
export async function countSome(sql: Sql, from: string, ...params: Value[]): Promise<number> {
  const text = `SELECT COUNT(*) AS count FROM (SELECT 1 FROM ${from} LIMIT ${COUNTED}) AS found`;
  const [row] = await sql.query<{ count: number }>(text, ...params);
  return row!.count;
}

/** Nobody else passes this with the same name until the transaction ends. */
export async function hold(tx: Sql, name: string): Promise<void> {
  await tx.execute(tx.dialect.hold, name);
}

/** Thrown in a transaction, it undoes all of it; what `refusal` then gives is the result. */
export class Refused<Why extends string> extends Error {
  readonly why: Why;

  constructor(why: Why) {
    super(why);
    this.why = why;
  }
}

export function refusal<Why extends string>(error: unknown): Why {
  if (error instanceof Refused) return error.why;
  throw error;
}

/** The engine could not read or write its files. Has the shape of an error of the operating system, which it is. */
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
  /** Requests that wait for a connection. */
  waiting: number;
}

export interface SqlStore extends Sql {
  readonly load?: PoolLoad;
  /** Once before the first use by a service: what the engine needs, and whether it can be trusted. */
  prepare?(): Promise<void>;
  /** After rows were inserted with numbers of their own: new ones get higher numbers. */
  advanceSerials?(): Promise<void>;
  close(): Promise<void>;
}

/** Something that one process at a time holds; it goes with the process. */
export interface Lock {
  /** Whether it is still held; asks the engine. */
  confirm(): Promise<boolean>;
  release(): Promise<void>;
}
