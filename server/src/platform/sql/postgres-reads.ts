import { Client, type ClientConfig } from 'pg';
import { cut, run, sayGoodbye } from './postgres-statement.ts';
import type { PoolLoad, Value } from './sql.ts';

/** A connection on which nothing has moved for so long works on something large: others go around it. */
const SLOW_MS = 3;

/**
 * Connections for reads alone. Each carries many at once, one behind the other, without waiting for answers in
 * between: a small read then costs half of what it does on a connection that is taken from a pool and given back.
 */
export class ReadConnections {
  readonly #connections: ReadConnection[];

  /**
   * A server that is silent for `silenceMs` while reads wait is taken to be gone, on every connection: a read that goes on to
   * another one does not wait there as long again.
   */
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
    // Where all are slow it is often this process that is: then least of all behind the one that has stood still longest.
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
  /** One for all reads; the driver would set one for each. */
  #watch: NodeJS.Timeout | undefined;
  #client: Promise<Client> | undefined;
  /** When something last came of it. */
  movedAt = 0;
  /** Reads whose answer is not here yet. */
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

  /** For as long as reads wait. */
  readonly #check = () => {
    this.#watch = undefined;
    if (this.waiting === 0) return;
    const left = this.movedAt + this.#silenceMs - performance.now();
    if (left > 0) this.#watch = setTimeout(this.#check, left).unref();
    else this.#onSilence();
  };

  /** Gives the connection up; the next read opens another one. */
  drop(): void {
    const dropped = this.#client;
    this.#client = undefined;
    dropped?.then(cut, () => undefined /* it was never there */);
  }

  async close(): Promise<void> {
    clearTimeout(this.#watch);
    const client = await this.#client?.catch(() => undefined /* whoever asked for it was told */);
    if (client) await sayGoodbye(client);
  }

  /** A connection that is lost takes its reads with it; the next read opens another one. */
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
