import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** The answer on a plain socket, for requests that no HTTP client would send. */
export interface RawAnswer {
  text: string;
  /** The statuses of all responses, in order. */
  statuses: number[];
  closed: boolean;
}

export class RawConnection {
  readonly #socket: net.Socket;
  #received = '';
  #closed = false;

  private constructor(socket: net.Socket) {
    this.#socket = socket;
    socket.setEncoding('latin1');
    socket.on('data', (part: string) => {
      this.#received += part;
    });
    // Our side stays open until the test ends it, so `closed` refers to the server's side.
    for (const event of ['end', 'close']) {
      socket.on(event, () => {
        this.#closed = true;
      });
    }
    // A service may refuse with a reset, which counts as `closed`.
    socket.on('error', () => {
      this.#closed = true;
    });
  }

  static async open(baseUrl: string): Promise<RawConnection> {
    const { hostname, port } = new URL(baseUrl);
    const socket = net.connect({ host: hostname, port: Number(port), noDelay: true, allowHalfOpen: true });
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    return new RawConnection(socket);
  }

  write(bytes: string | Uint8Array): void {
    if (!this.#closed) this.#socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  }

  /** Ends only our side, like a client that has nothing more to send. */
  end(): void {
    this.#socket.end();
  }

  /** Reads nothing until `resume`, so that the server's data piles up on its side. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  get answer(): RawAnswer {
    const statuses = [...this.#received.matchAll(/HTTP\/1\.[01] (\d{3}) /g)];
    return { text: this.#received, statuses: statuses.map((m) => Number(m[1])), closed: this.#closed };
  }

  /** Waits until the predicate is true or the time is over, and returns the answer so far. */
  async until(done: (answer: RawAnswer) => boolean, timeoutMs = 10_000): Promise<RawAnswer> {
    const end = Date.now() + timeoutMs;
    while (!done(this.answer) && Date.now() < end) await sleep(5);
    return this.answer;
  }
}

/** Sends the bytes and waits until the connection ends or the predicate is true. */
export async function sendRaw(
  baseUrl: string,
  bytes: string | Uint8Array,
  done: (answer: RawAnswer) => boolean = (answer) => answer.closed,
  timeoutMs = 10_000,
): Promise<RawAnswer> {
  const connection = await RawConnection.open(baseUrl);
  try {
    connection.write(bytes);
    return await connection.until((answer) => answer.closed || done(answer), timeoutMs);
  } finally {
    connection.destroy();
  }
}
