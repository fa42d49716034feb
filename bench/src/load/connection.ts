import { createHash, type Hash } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { ChunkedBody } from './chunked.ts';
import { LoadError } from './error.ts';
import { patternOf } from './pattern.ts';
import type { LoadRequest } from './request.ts';

export interface LoadResponse {
  status: number;
  /** Lower-case names. */
  headers: Map<string, string>;
  bytes: number;
  /** Empty unless requested, or unless the status is an error. */
  text: string;
}

interface Exchange {
  request: LoadRequest;
  keepText: boolean;
  digest: Hash | undefined;
  resolve: (response: LoadResponse) => void;
  reject: (error: Error) => void;
}

/** Large enough to read all that the kernel has in one call. Shared by all connections, because reads never overlap. */
const readBuffer = Buffer.allocUnsafe(1024 * 1024);
/** Bodies are sent in pieces, so that progress can be observed. The kernel accepts about this much at once. */
const WRITE_PIECE = 4 * 1024 * 1024;
const MAX_HEAD = 64 * 1024;

/**
 * One keep-alive HTTP/1.1 connection over a plain socket. Uses very little CPU time: bodies are views of one pattern, and responses are
 * read into a reused buffer, counted and discarded.
 */
export class Connection {
  /** Increases with every piece sent or received. A watchdog uses it to detect a server that hangs. */
  progress = 0;
  readonly #socket: Socket;
  #exchange: Exchange | undefined;
  #head = '';
  #response: LoadResponse | undefined;
  #left = 0;
  #chunked: ChunkedBody | undefined;
  #closed: Error | undefined;

  private constructor(port: number, ready: () => void, failed: (error: Error) => void) {
    const callback = (length: number) => {
      try {
        this.#read(readBuffer.subarray(0, length));
      } catch (error) {
        this.#fail(error as Error);
        this.#socket.destroy();
      }
      return true;
    };
    this.#socket = connect({
      port,
      host: '127.0.0.1',
      noDelay: true,
      onread: { buffer: readBuffer, callback },
    });
    this.#socket.once('connect', ready);
    this.#socket.on('error', (error) => {
      failed(error);
      this.#fail(new LoadError(`connection failed: ${error.message}`, { cause: error }));
    });
    this.#socket.on('close', () => this.#fail(new LoadError('the server closed the connection')));
  }

  static async open(port: number): Promise<Connection> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const connection = new Connection(port, resolve, reject);
    await promise;
    return connection;
  }

  /** Sends one request and returns its response. Rejects on any status other than 2xx. */
  exchange(request: LoadRequest, keepText = false): Promise<LoadResponse> {
    if (this.#closed) return Promise.reject(this.#closed);
    if (this.#exchange) return Promise.reject(new LoadError('a connection carries one request at a time'));
    return new Promise((resolve, reject) => {
      const digest = request.expectSha256 === undefined ? undefined : createHash('sha256');
      this.#exchange = { request, keepText, digest, resolve, reject };
      this.#send(request);
    });
  }

  close(): void {
    this.#fail(new LoadError('the connection was closed by the bench'));
    this.#socket.destroy();
  }

  #send({ head, body }: LoadRequest): void {
    if (typeof body !== 'number') {
      this.#socket.write(head + (body ?? ''));
      return;
    }
    this.#socket.cork();
    this.#socket.write(head);
    this.#sendPattern(body, 0);
    this.#socket.uncork();
  }

  #sendPattern(bytes: number, offset: number): void {
    const end = Math.min(bytes, offset + WRITE_PIECE);
    this.#socket.write(patternOf(bytes).subarray(offset, end), () => {
      this.progress++;
      if (end < bytes && !this.#closed) this.#sendPattern(bytes, end);
    });
  }

  #read(data: Buffer): void {
    this.progress++;
    if (!this.#exchange) throw new LoadError('the server sent bytes that answer no request');
    if (this.#response) {
      this.#readBody(this.#exchange, this.#response, data);
      return;
    }
    const before = this.#head.length;
    this.#head += data.toString('latin1', 0, Math.min(data.length, MAX_HEAD));
    const end = this.#head.indexOf('\r\n\r\n');
    if (end < 0) {
      if (this.#head.length > MAX_HEAD) throw new LoadError('a response head without an end');
      return;
    }
    this.#response = this.#readHead(this.#head.slice(0, end), this.#exchange.request);
    this.#head = '';
    this.#readBody(this.#exchange, this.#response, data.subarray(end + 4 - before));
  }

  #readHead(head: string, { expectBytes }: LoadRequest): LoadResponse {
    const [statusLine = '', ...lines] = head.split('\r\n');
    const status = Number(/^HTTP\/1\.1 ([2-5]\d\d)/.exec(statusLine)?.[1] ?? Number.NaN);
    if (Number.isNaN(status)) throw new LoadError(`the status line "${statusLine}"`);
    const headers = new Map<string, string>();
    for (const line of lines) {
      const colon = line.indexOf(':');
      headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
    }
    const length = status === 204 ? '0' : headers.get('content-length');
    this.#chunked = headers.get('transfer-encoding') === 'chunked' ? new ChunkedBody() : undefined;
    if (length === undefined && !this.#chunked) throw new LoadError(`status ${status} without a length`);
    this.#left = Number(length ?? 0);
    if (status < 300 && expectBytes !== undefined && this.#left !== expectBytes) {
      throw new LoadError(`${this.#left} bytes announced where ${expectBytes} were stored`);
    }
    return { status, headers, bytes: 0, text: '' };
  }

  #readBody(exchange: Exchange, response: LoadResponse, data: Buffer): void {
    if (!this.#chunked && data.length > this.#left)
      throw new LoadError('more bytes than Content-Length says');
    this.#left -= data.length;
    for (const piece of this.#chunked ? this.#chunked.feed(data) : [data]) {
      response.bytes += piece.length;
      exchange.digest?.update(piece);
      if (exchange.keepText || response.status >= 300) response.text += piece.toString();
    }
    if (this.#chunked ? this.#chunked.done : this.#left === 0) this.#end(exchange, response);
  }

  #end({ request, digest, resolve }: Exchange, response: LoadResponse): void {
    const line = request.head.slice(0, request.head.indexOf('\r\n'));
    if (response.status >= 300) {
      throw new LoadError(`status ${response.status} to "${line}": ${response.text.slice(0, 300)}`);
    }
    if (digest && digest.digest('hex') !== request.expectSha256) {
      throw new LoadError(`other bytes than were stored to "${line}"`);
    }
    this.#exchange = undefined;
    this.#response = undefined;
    if (response.headers.get('connection')?.toLowerCase() === 'close') this.close();
    resolve(response);
  }

  #fail(error: Error): void {
    this.#closed ??= error;
    this.#exchange?.reject(this.#closed);
    this.#exchange = undefined;
  }
}
