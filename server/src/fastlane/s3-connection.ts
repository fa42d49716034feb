import { connect } from 'node:net';
import { readHead } from '@szafa/protocol';
import type { ObjectReader, OpenBody } from '../platform/s3/client.ts';
import { broken, OtherAnswer, silent } from '../platform/s3/errors.ts';
import { Disconnected, type Sink } from '../platform/volumes/body.ts';
import { Intake } from './intake.ts';

const HEAD_BYTES = 16 * 1024;

/**
 * Fetches objects with a fraction of the CPU of node:http: bytes go from the socket straight into the memory they are sent
 * from. Accepts only answers with the expected status and a Content-Length; throws OtherAnswer otherwise.
 */
export class S3Connections implements ObjectReader {
  readonly #endpoint: URL;
  readonly #idleMs: number;
  readonly #idle: S3Connection[] = [];

  constructor(endpoint: URL, idleMs: number) {
    this.#endpoint = endpoint;
    this.#idleMs = idleMs;
  }

  /** Sends a request without a body; resolves when its answer begins. */
  async fetch(head: string, status: number, silenceMs: number): Promise<OpenBody> {
    let connection = this.#idle.pop();
    while (connection?.ended) connection = this.#idle.pop();
    connection ??= new S3Connection(this.#endpoint, (free) => {
      free.keepIdle(this.#idleMs);
      this.#idle.push(free);
    });
    try {
      await connection.request(head, status, silenceMs);
      return connection;
    } catch (error) {
      connection.end();
      throw error;
    }
  }

  close(): void {
    for (const connection of this.#idle.splice(0)) connection.end();
  }
}

class S3Connection implements OpenBody {
  length = 0;
  readonly #intake: Intake;
  readonly #onFree: (connection: S3Connection) => void;
  #mode: 'idle' | 'head' | 'body' = 'idle';
  #status = 0;
  #head = '';
  #keepAlive = false;
  #answerBegun: PromiseWithResolvers<void> | undefined;
  /** Why the connection closed. */
  #fault: Error = broken('the store closed the connection');

  constructor(endpoint: URL, onFree: (connection: S3Connection) => void) {
    this.#onFree = onFree;
    const host = endpoint.hostname.replace(/^\[|\]$/g, '');
    const port = Number(endpoint.port) || 80;
    this.#intake = new Intake(
      (onread) => connect({ host, port, noDelay: true, onread }),
      (bytes) => this.#read(bytes),
      HEAD_BYTES,
    );
    const { socket } = this.#intake;
    socket.on('timeout', () => {
      if (!this.#intake.waits) socket.destroy(silent());
    });
    socket.on('error', (error) => {
      this.#fault = error;
    });
    socket.on('close', () => this.#answerBegun?.reject(this.#fault));
  }

  get ended(): boolean {
    return this.#intake.socket.destroyed;
  }

  end(): void {
    this.#intake.socket.destroy();
  }

  /** Keeps the connection open for reuse; unexpected bytes or the idle timeout close it. */
  keepIdle(idleMs: number): void {
    this.#mode = 'idle';
    this.#intake.socket.setTimeout(idleMs).unref();
    this.#intake.resume();
  }

  /** Resolves when the answer begins. */
  async request(head: string, status: number, silenceMs: number): Promise<void> {
    this.#mode = 'head';
    this.#status = status;
    this.#head = '';
    this.#answerBegun = Promise.withResolvers();
    this.#intake.socket.setTimeout(silenceMs).ref();
    this.#intake.socket.write(head);
    this.#intake.resume();
    await this.#answerBegun.promise;
  }

  async pour(sink: Sink): Promise<void> {
    try {
      await this.#intake.pour(sink);
    } catch (error) {
      this.end();
      throw error instanceof Disconnected ? this.#fault : error;
    }
    if (this.#keepAlive && !this.ended) this.#onFree(this);
    else this.end();
  }

  /** A connection with an unread answer cannot be reused. */
  close(): void {
    if (this.#mode !== 'idle') this.end();
  }

  #read(bytes: Buffer): boolean {
    try {
      if (this.#mode === 'head') return this.#readHead(bytes);
      this.end();
    } catch (error) {
      this.#answerBegun?.reject(error);
      this.end();
    }
    return false;
  }

  #readHead(bytes: Buffer): boolean {
    const before = this.#head.length;
    this.#head += bytes.toString('latin1');
    const stop = this.#head.indexOf('\r\n\r\n');
    if (stop < 0) {
      if (this.#head.length >= HEAD_BYTES) throw new OtherAnswer('a head without an end');
      return true;
    }
    const { length, keepAlive } = parseHead(this.#head.slice(0, stop), this.#status);
    const early = bytes.subarray(stop + 4 - before);
    if (early.length > length) throw new OtherAnswer('more bytes than Content-Length says');
    this.length = length;
    this.#keepAlive = keepAlive;
    this.#intake.begin(length, early);
    this.#mode = 'body';
    this.#answerBegun!.resolve();
    return false;
  }
}

function parseHead(text: string, expected: number): { length: number; keepAlive: boolean } {
  const { first = '', headers, length } = readHead(text) ?? {};
  const status = Number(/^HTTP\/1\.1 (\d{3})(?: |$)/.exec(first)?.[1]);
  const plain = headers !== undefined && !headers.has('content-encoding');
  if (status !== expected || !plain || length === undefined) throw new OtherAnswer(`answer ${status}`);
  return { length, keepAlive: !/\bclose\b/i.test(headers.get('connection') ?? '') };
}
