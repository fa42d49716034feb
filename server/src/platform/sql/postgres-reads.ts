import { Client, type ClientConfig } from 'pg';
import { cut, run, sayGoodbye } from './postgres-statement.ts';
import type { PoolLoad, Value } from './sql.ts';

/** A connection without an answer for this long is busy with a large read: other reads avoid it. */
const SLOW_MS = 3;

/** Connections for reads, which are pipelined: a small read costs half as much as on a connection leased from a pool. */
export class ReadConnections {
  readonly #connections: ReadConnection[];

  /** A server that is silent for `silenceMs` while reads wait counts as gone on all connections, so that a retry does not wait again. */
  constructor(config: ClientConfig, count: number, silenceMs: number) {
    const onSilence = () => {
      for (const connection of this.#connections) connection.drop();
    };
    this.#connections = Array.from({ length: count }, () => new ReadConnection(config, silenceMs, onSilence));
  }

  get load(): PoolLoad {
    const open = this.#connections.filter((connection) => connection.isOpen);
    return {
      total: open.length,
      idle: open.filter((connection) => connection.waiting === 0).length,
      waiting: 0,
    };
  }

  query<Row>(text: string, params: Value[]): Promise<Row[]> {
    // If all are slow, take the one with the most recent answer: it is often this process that is slow.
    const connection =
      this.#connections.find((one) => !one.isSlow) ??
      this.#connections.reduce((last, one) => (one.movedAt > last.movedAt ? one : last));
    return connection.query(text, params);
  }

  async close(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close()));
  }
}

class ReadConnection {
  readonly #config: ClientConfig;
  readonly #silenceMs: number;
  readonly #onSilence: () => void;
  /** One timer for all reads; the driver would set one for each. */
  #watch: NodeJS.Timeout | undefined;
  #client: Promise<Client> | undefined;
  /** Time of the last answer. */
  movedAt = 0;
  /** Reads without an answer yet. */
  waiting = 0;

  constructor(config: ClientConfig, silenceMs: number, onSilence: () => void) {
    this.#config = { ...config, pipeline: true, query_timeout: undefined };
    this.#silenceMs = silenceMs;
    this.#onSilence = onSilence;
  }

  get isOpen(): boolean {
    return this.#client !== undefined;
  }

  get isSlow(): boolean {
    return this.waiting > 0 && performance.now() - this.movedAt > SLOW_MS;
  }

  async query<Row>(text: string, params: Value[]): Promise<Row[]> {
    if (this.waiting++ === 0) this.movedAt = performance.now();
    try {
      this.#client ??= this.#open();
      this.#watch ??= setTimeout(this.#check, this.#silenceMs).unref();
      return await run<Row>(await this.#client, text, params);
    } finally {
      this.waiting--;
      this.movedAt = performance.now();
    }
  }

  /** Runs while reads wait. */
  readonly #check = () => {
    this.#watch = undefined;
    if (this.waiting === 0) return;
    const left = this.movedAt + this.#silenceMs - performance.now();
    if (left > 0) this.#watch = setTimeout(this.#check, left).unref();
    else this.#onSilence();
  };

  /** Drops the connection; the next read opens another one. */
  drop(): void {
    const dropped = this.#client;
    this.#client = undefined;
    dropped?.then(cut, () => undefined /* it never opened */);
  }

  async close(): Promise<void> {
    clearTimeout(this.#watch);
    const client = await this.#client?.catch(() => undefined /* its reader got the error */);
    if (client) await sayGoodbye(client);
  }

  /** If the connection is lost, its reads fail; the next read opens another one. */
  #open(): Promise<Client> {
    const client = new Client(this.#config);
    const opening = client.connect().then(() => client);
    const forget = () => {
      if (this.#client === opening) this.#client = undefined;
    };
    client.on('error', forget);
    client.on('end', forget);
    opening.catch(forget);
    return opening;
  }
}
