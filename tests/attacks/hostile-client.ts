/** A client that keeps to no rule, one of thousands, each from an address of its own. */
import { randomBytes, randomInt } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { reset } from './reset.ts';

export const pick = <T>(...choices: T[]): T => choices[randomInt(choices.length)]!;
export const NOISE = randomBytes(256 * 1024);
export const noise = (most: number) => NOISE.subarray(0, randomInt(most));

/** Linux takes every address of 127.0.0.0/8 for its own: thousands of callers, and ports for all of them. */
const someAddress = () => `127.${1 + randomInt(250)}.${randomInt(256)}.${1 + randomInt(250)}`;

const ANSWER = /HTTP\/1\.1 (\d{3}) /g;
const PATIENCE_MS = 120_000;

export class HostileClient {
  readonly socket: Socket;
  text = '';
  closed = false;
  #changed = Promise.withResolvers<void>();

  constructor(port: number) {
    const options = { port, host: '127.0.0.1', localAddress: someAddress() };
    // What the service says about the end of the connection must not end our side of it.
    this.socket = connect({ ...options, noDelay: true, allowHalfOpen: true });
    this.socket.on('data', (bytes) => {
      this.text += bytes.toString('latin1');
      this.#tell();
    });
    this.socket.on('error', () => undefined /* cut off, as it should be */);
    for (const event of ['end', 'close']) {
      this.socket.on(event, () => {
        this.closed = true;
        this.#tell();
      });
    }
  }

  /** Of all answers but `100 Continue`. */
  get statuses(): number[] {
    return [...this.text.matchAll(ANSWER)]
      .map(([, status]) => Number(status))
      .filter((status) => status > 100);
  }

  /** Resolves when the system has taken the bytes, or the connection has ended. */
  async push(bytes: string | Uint8Array): Promise<void> {
    if (this.socket.destroyed) return;
    await new Promise<void>((resolve) => this.socket.write(bytes, () => resolve()));
  }

  /** In pieces of random sizes. */
  async pushTorn(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length && !this.closed; ) {
      const end = at + 1 + randomInt(pick(8, 2000, 70_000));
      await this.push(bytes.subarray(at, end));
      at = end;
    }
  }

  /** Until so many answers are here or the service has ended the connection; it must do one of the two. */
  async answered(count = 1): Promise<void> {
    const late = AbortSignal.timeout(PATIENCE_MS);
    late.addEventListener('abort', () => this.#tell());
    while (this.statuses.length < count && !this.closed) {
      if (late.aborted) throw new Error(`no answer in ${PATIENCE_MS} ms after: ${this.text.slice(0, 500)}`);
      await this.#changed.promise;
    }
  }

  leave(): void {
    if (randomInt(4) === 0) this.socket.destroy();
    // Leaves no port behind that waits.
    else reset(this.socket);
  }

  #tell(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
