import { Client, type ClientConfig } from 'pg';
import { closeClient, destroyClient, run } from './postgres-statement.ts';
import type { PoolLoad, Value } from './sql.ts';

/** A connection that has not answered for this long is busy with a large read: other reads avoid it. */
const SLOW_MS = 3;

/** Connections with pipelined reads: a small read costs half as much as on a connection leased from a pool. */
export class ReadConnections {
  readonly #connections: ReadConnection[];

  /**
   * If the database is silent for `silenceMs` while reads wait, all connections are dropped, so that a retry does not wait
   * again.
   */
  constructor(config: ClientConfig, count: number, silenceMs: number) {
    const dropAll = () => {
      for (const connection of this.#connections) connection.drop();
    };
    this.#connections = Array.from({ length: count }, () => new ReadConnection(config, silenceMs, dropAll));
  }

  get load(): Pick<PoolLoad, 'total' | 'idle'> {
    const open = this.#connections.filter((connection) => connection.isOpen);
    return { total: open.length, idle: open.filter((connection) => connection.waiting === 0).length };
  }

  query<Row>(text: string, params: Value[]): Promise<Row[]> {
    // If all are slow, use the connection with the most recent answer: often it is this process that is slow.
    const connection =
      this.#connections.find((one) => !one.isSlow) ??
      this.#connections.reduce((last, one) => (one.answeredAt > last.answeredAt ? one : last));
    return connection.query(text, params);
  }

  async close(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close()));
  }
}

class ReadConnection {
  readonly #open: () => Promise<Client>;
  readonly #silenceMs: number;
  readonly #onSilence: () => void;
  /** One timer for all reads; the driver would set one for each. */
  #silenceTimer: NodeJS.Timeout | undefined;
  #client: Promise<Client> | undefined;
  /** Time of the last answer. */
  answeredAt = 0;
  /** Reads without an answer yet. */
  waiting = 0;

  constructor(config: ClientConfig, silenceMs: number, onSilence: () => void) {
    this.#silenceMs = silenceMs;
    this.#onSilence = onSilence;
    // If the connection is lost, its reads fail and the next read opens another one.
    this.#open = () => {
      const client = new Client({ ...config, pipeline: true, query_timeout: undefined });
      const opening = client.connect().then(() => client);
      const forget = () => {
        if (this.#client === opening) this.#client = undefined;
      };
      client.on('error', forget).on('end', forget);
      opening.catch(forget);
      return opening;
    };
  }

  get isOpen(): boolean {
    return this.#client !== undefined;
  }

  get isSlow(): boolean {
    return this.waiting > 0 && performance.now() - this.answeredAt > SLOW_MS;
  }

  async query<Row>(text: string, params: Value[]): Promise<Row[]> {
    if (this.waiting++ === 0) this.answeredAt = performance.now();
    try {
      this.#client ??= this.#open();
      this.#silenceTimer ??= setTimeout(this.#checkSilence, this.#silenceMs).unref();
      return await run<Row>(await this.#client, text, params);
    } finally {
      this.waiting--;
      this.answeredAt = performance.now();
    }
  }

  readonly #checkSilence = () => {
    this.#silenceTimer = undefined;
    if (this.waiting === 0) return;
    const left = this.answeredAt + this.#silenceMs - performance.now();
    if (left > 0) this.#silenceTimer = setTimeout(this.#checkSilence, left).unref();
    else this.#onSilence();
  };

  /** Drops the connection; the next read opens another one. */
  drop(): void {
    this.#client?.then(destroyClient, () => undefined /* it never opened */);
    this.#client = undefined;
  }

  async close(): Promise<void> {
    clearTimeout(this.#silenceTimer);
    const client = await this.#client?.catch(() => undefined /* its reader got the error */);
    if (client) await closeClient(client);
  }
}
