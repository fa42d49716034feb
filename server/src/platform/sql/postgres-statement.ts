import type { Writable } from 'node:stream';
import { type Client, type ClientBase, Query, type Submittable, TypeOverrides } from 'pg';
import type { Value } from './sql.ts';

const INT8 = 20;
export const types = new TypeOverrides();
// Every BIGINT column is a safe integer; sums that may be larger are cast to text.
types.setTypeParser(INT8, Number);

interface Column {
  name: string;
  parse: (text: string) => unknown;
}

interface Prepared {
  name: string;
  text: string;
  /** Known after the first run. They cannot change later, because PostgreSQL would refuse to run the plan. */
  columns: Column[] | undefined;
}

const prepared = new Map<string, Prepared>();

/** Returns the statement with numbered parameters, and the name under which each connection keeps its plan. */
function prepare(text: string): Prepared {
  let statement = prepared.get(text);
  if (!statement) {
    let count = 0;
    const numbered = text.replace(/\?/g, () => `$${++count}`);
    statement = { name: `s${prepared.size}`, text: numbered, columns: undefined };
    prepared.set(text, statement);
  }
  return statement;
}

export function run<Row>(client: ClientBase, text: string, params: Value[], begins = false): Promise<Row[]> {
  return new Promise((resolve, reject) => {
    const values = params.map(toText);
    const callback: Callback<Row> = (error, rows) => (error ? reject(error) : resolve(rows));
    client.query(new PreparedQuery<Row>(prepare(text), values, begins, callback));
  });
}

/** Begins a transaction and runs its first statement, in one round trip where possible. */
export async function begin<Row>(client: ClientBase, text: string, params: Value[]): Promise<Row[]> {
  const together = isKnown(connectionOf(client), prepare(text));
  if (!together) await client.query('BEGIN');
  return run(client, text, params, together);
}

/** PostgreSQL rejects NUL in text. No stored name or id contains one, so such text must match nothing instead of failing. */
function toText(value: Value): string | null {
  if (typeof value !== 'string') return value === null ? null : String(value);
  return value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value;
}

/** The part of the driver's connection used here. */
interface Connection {
  stream: Writable;
  parsedStatements: Record<string, string>;
}

const connectionOf = (client: ClientBase) => (client as unknown as { connection: Connection }).connection;

/** Whether the statement is prepared on this connection and its columns are known. */
const isKnown = ({ parsedStatements }: Connection, { name, columns }: Prepared) =>
  columns !== undefined && parsedStatements[name] !== undefined;

/** Destroys a connection whose server does not answer; its statements fail. */
export function destroyClient(client: ClientBase): void {
  connectionOf(client).stream.destroy();
}

/** A healthy server closes a connection at once, an unreachable one never. */
export const CLOSE_MS = 5_000;

/** Closes a connection properly if its server answers; never fails. */
export async function closeClient(client: Client): Promise<void> {
  const late = setTimeout(destroyClient, CLOSE_MS, client);
  await client.end().catch(() => undefined /* lost already */);
  clearTimeout(late);
}

type Callback<Row> = (error: Error | null, rows: Row[]) => void;

/** The part of the driver's query that is used below; its types omit most of it. */
interface DriverQuery<Row> extends Submittable {
  name: string;
  callback: Callback<Row>;
  submit(connection: unknown): Error | null;
}
const DriverQuery = Query as unknown as new <Row>(
  text: string,
  values: (string | null)[],
) => DriverQuery<Row>;

/**
 * Runs a prepared statement. The driver would send four messages and read the columns each time; with known columns this
 * sends a single buffer.
 */
class PreparedQuery<Row> extends DriverQuery<Row> {
  readonly #prepared: Prepared;
  readonly #values: (string | null)[];
  readonly #begins: boolean;
  readonly #rows: Row[] = [];

  constructor(statement: Prepared, values: (string | null)[], begins: boolean, callback: Callback<Row>) {
    super(statement.text, values);
    this.#prepared = statement;
    this.#values = values;
    this.#begins = begins;
    this.name = statement.name;
    this.callback = callback;
  }

  override submit(connection: unknown): Error | null {
    if (!isKnown(connection as Connection, this.#prepared)) return super.submit(connection);
    const bytes = bindAndExecute(this.#prepared.name, this.#values);
    (connection as Connection).stream.write(this.#begins ? Buffer.concat([BEGIN, bytes]) : bytes);
    return null;
  }

  handleRowDescription({ fields }: { fields: { name: string; dataTypeID: number }[] }): void {
    this.#prepared.columns ??= fields.map(({ name, dataTypeID }) => ({
      name,
      // The driver's type declarations expect a number here.
      parse: types.getTypeParser(dataTypeID) as unknown as Column['parse'],
    }));
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    const row: Record<string, unknown> = {};
    const columns = this.#prepared.columns!;
    for (let i = 0; i < columns.length; i++) {
      const { name, parse } = columns[i]!;
      const text = fields[i]!;
      row[name] = text === null ? null : parse(text);
    }
    this.#rows.push(row as Row);
  }

  handleCommandComplete(): void {
    // A statement without a row description has no columns.
    this.#prepared.columns ??= [];
  }

  handleReadyForQuery(): void {
    this.callback(null, this.#rows);
  }
}

/** Messages "Execute" without a limit and "Sync", https://www.postgresql.org/docs/current/protocol-message-formats.html */
const EXECUTE_AND_SYNC = Buffer.from('E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04', 'latin1');
/** Messages "Parse", "Bind" and "Execute" of BEGIN, without a "Sync", so that the next statement is skipped if BEGIN fails. */
const BEGIN = Buffer.from(
  'P\0\0\0\x0d\0BEGIN\0\0\0B\0\0\0\x0c\0\0\0\0\0\0\0\0E\0\0\0\x09\0\0\0\0\0',
  'latin1',
);
const NULL = -1;

/** Message "Bind" for the unnamed portal, with all values as text, followed by the messages that execute it. */
export function bindAndExecute(name: string, values: (string | null)[]): Buffer {
  let length = 4 + 1 + name.length + 1 + 2 + 2 + 2;
  for (const value of values) length += 4 + (value === null ? 0 : Buffer.byteLength(value));
  const bytes = Buffer.allocUnsafe(1 + length + EXECUTE_AND_SYNC.length);
  let at = bytes.write('B', 'latin1');
  at = bytes.writeInt32BE(length, at);
  at = bytes.writeInt8(0, at);
  at += bytes.write(name, at, 'latin1');
  at = bytes.writeInt8(0, at);
  at = bytes.writeInt16BE(0, at);
  at = bytes.writeInt16BE(values.length, at);
  for (const value of values) {
    const size = value === null ? 0 : bytes.write(value, at + 4);
    bytes.writeInt32BE(value === null ? NULL : size, at);
    at += 4 + size;
  }
  at = bytes.writeInt16BE(0, at);
  bytes.set(EXECUTE_AND_SYNC, at);
  return bytes;
}
