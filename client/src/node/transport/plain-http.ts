import { connect, type Socket } from 'node:net';
import { readHead } from '@szafa/protocol';
import { NetworkError, TooLongError } from '../../errors.ts';
import { mostBytes, type TransportRequest, type TransportResponse } from '../../http/transport.ts';

const HEAD_BYTES = 64 * 1024;
const HEAD_END = '\r\n\r\n';
/** Shorter than servers keep an idle connection. */
const IDLE_MS = 4_000;
const METHODS = new Set(['GET', 'POST', 'PUT', 'DELETE']);

/** Thrown if an exchange needs a full HTTP client. */
export class FallbackNeeded extends Error {}

interface Head {
  status: number;
  header(name: string): string | undefined;
  length: number;
}

function closedEarly(): NetworkError {
  const cause = Object.assign(new Error('closed by the other side'), { code: 'ECONNRESET' });
  return new NetworkError('the answer ended too early', { cause });
}

/** A connection that reads directly into the target memory. */
class Connection {
  readonly socket: Socket;
  /** Has served a request and been idle since, so the server may have closed it. */
  used = false;
  /** Buffer for response heads, and for body bytes that arrive with them. */
  readonly scratch = Buffer.allocUnsafeSlow(HEAD_BYTES);
  /** Target of the next read. It must be set before the previous read returns. */
  next: Uint8Array = this.scratch;
  onBytes: ((length: number) => void) | undefined;
  onEnd: ((error: Error) => void) | undefined;

  constructor(url: URL) {
    const callback = (length: number) => {
      if (this.onBytes) this.onBytes(length);
      else this.socket.destroy();
      return true;
    };
    const onread = { buffer: () => this.next, callback };
    const host = url.hostname.replace(/^\[|\]$/g, '');
    this.socket = connect({ host, port: Number(url.port) || 80, noDelay: true, onread });
    const late = () => new NetworkError('the server did not answer in time');
    this.socket.on('timeout', () => this.socket.destroy(this.onEnd ? late() : undefined));
    this.socket.on('error', (error) => this.onEnd?.(error));
    this.socket.on('close', () => this.onEnd?.(closedEarly()));
  }
}

/**
 * HTTP without TLS, at a fraction of the cost of node:http, which dominates for small files. Each request is one write, and the system
 * reads the response directly into its target. Supports only responses with a Content-Length; a server that responds otherwise gets
 * node:http from then on.
 */
export class PlainHttp {
  readonly #idle = new Map<string, Connection[]>();
  /** Hosts that need node:http. */
  readonly #others = new Set<string>();

  canSend(url: URL, { method, body, fresh }: TransportRequest): boolean {
    if (fresh || url.protocol !== 'http:' || this.#others.has(url.host)) return false;
    const inMemory = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
    return inMemory && METHODS.has(method);
  }

  async exchange(url: URL, request: TransportRequest): Promise<TransportResponse> {
    // The server reads a connection faster if it carries only volumes.
    const isVolume = request.method === 'PUT' && request.body instanceof Uint8Array;
    const pool = isVolume ? `volumes ${url.host}` : url.host;
    const idle = this.#idle.get(pool) ?? [];
    this.#idle.set(pool, idle);
    let connection = idle.pop();
    while (connection?.socket.destroyed) connection = idle.pop();
    connection ??= new Connection(url);
    try {
      const response = await exchange(connection, url, request);
      // The caller reuses the body's memory as soon as this returns, so the socket must not hold unsent data.
      const unsent = connection.socket.writableLength > 0;
      if (unsent || response.header('connection')?.toLowerCase() === 'close') {
        connection.socket.destroy();
      } else {
        connection.used = true;
        connection.socket.setTimeout(IDLE_MS).unref();
        idle.push(connection);
      }
      return response;
    } catch (error) {
      connection.socket.destroy();
      if (error instanceof FallbackNeeded) this.#others.add(url.host);
      const lost = error instanceof NetworkError || (error as NodeJS.ErrnoException).code !== undefined;
      const stale = connection.used && lost && request.method === 'GET' && !request.signal?.aborted;
      if (stale) throw new FallbackNeeded('closed', { cause: error });
      throw error;
    }
  }

  close(): void {
    for (const connections of this.#idle.values()) for (const { socket } of connections) socket.destroy();
    this.#idle.clear();
  }
}

async function exchange(
  connection: Connection,
  url: URL,
  request: TransportRequest,
): Promise<TransportResponse> {
  const { signal, quietMs, body: outgoing } = request;
  signal?.throwIfAborted();
  // Without a request body, `onBytes` counts received bytes; otherwise `send` counts sent ones.
  const onBytes = outgoing === undefined ? request.onBytes : undefined;
  let filled = 0;
  let head: Head | undefined;
  let body = Buffer.alloc(0);
  let length = 0;

  /** Returns true if the body is complete. */
  const take = (read: number): boolean => {
    connection.used = false;
    if (head) {
      length += read;
      onBytes?.(read);
    } else {
      filled += read;
      const stop = connection.scratch.subarray(0, filled).indexOf(HEAD_END);
      if (stop < 0) {
        if (filled === HEAD_BYTES) throw new FallbackNeeded('a head without an end');
        connection.next = connection.scratch.subarray(filled);
        return false;
      }
      head = parseHead(connection.scratch.toString('latin1', 0, stop));
      if (head.length > mostBytes(request, head.status)) throw new TooLongError();
      const memory =
        (head.status === 200 && request.into?.(head.length)) || Buffer.allocUnsafeSlow(head.length);
      body = Buffer.from(memory.buffer as ArrayBuffer, memory.byteOffset, head.length);
      const early = connection.scratch.subarray(stop + HEAD_END.length, filled);
      if (early.length > body.length) throw new FallbackNeeded('more than was announced');
      body.set(early);
      length = early.length;
      onBytes?.(length);
    }
    const whole = length === body.length;
    connection.next = whole ? connection.scratch : body.subarray(length);
    return whole;
  };

  const abort = () => connection.onEnd?.(signal!.reason as Error);
  try {
    await new Promise<void>((resolve, reject) => {
      connection.onEnd = reject;
      connection.onBytes = (read) => {
        try {
          if (take(read)) resolve();
        } catch (error) {
          connection.next = connection.scratch;
          reject(error);
        }
      };
      signal?.addEventListener('abort', abort, { once: true });
      connection.socket.setTimeout(quietMs).ref();
      send(connection.socket, url, request);
    });
  } finally {
    connection.onEnd = undefined;
    connection.onBytes = undefined;
    signal?.removeEventListener('abort', abort);
  }
  return { status: head!.status, header: head!.header, body };
}

const PIECE = 1024 * 1024;

function send(socket: Socket, url: URL, request: TransportRequest): void {
  const { body } = request;
  const bytes = typeof body === 'string' ? Buffer.from(body) : (body as Uint8Array | undefined);
  socket.cork();
  socket.write(requestHead(url, request, bytes?.length));
  for (let at = 0; bytes && at < bytes.length; at += PIECE) {
    const piece = bytes.subarray(at, at + PIECE);
    socket.write(piece, (error) => {
      if (!error) request.onBytes?.(piece.length);
    });
  }
  socket.uncork();
}

function requestHead(url: URL, { method, headers }: TransportRequest, length: number | undefined): string {
  let head = `${method} ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n`;
  for (const name in headers) {
    const line = `${name}: ${headers[name]}`;
    // A line break would start another header.
    if (/[^\x20-\x7e]/.test(line)) throw new FallbackNeeded('a header that node:http has to look at');
    head += `${line}\r\n`;
  }
  if (length !== undefined || method !== 'GET') head += `content-length: ${length ?? 0}\r\n`;
  return `${head}\r\n`;
}

function parseHead(text: string): Head {
  const { first = '', headers, length } = readHead(text) ?? {};
  const status = Number(/^HTTP\/1\.1 ([2-5]\d\d)(?: |$)/.exec(first)?.[1]);
  const plain = headers !== undefined && !headers.has('content-encoding');
  if (!plain || Number.isNaN(status) || length === undefined) throw new FallbackNeeded(text.slice(0, 80));
  return { status, length, header: (name) => headers.get(name.toLowerCase()) };
}
