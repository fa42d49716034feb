import { connect, type Socket } from 'node:net';
import { readHead } from '@szafa/protocol';
import { mostBytes, type TransportRequest, type TransportResponse } from '../../api/transport.ts';
import { NetworkError, TooLongError } from '../../errors.ts';

const HEAD_BYTES = 64 * 1024;
const HEAD_END = '\r\n\r\n';
/** Less than servers keep a connection that nothing is sent on. */
const IDLE_MS = 4_000;
const METHODS = new Set(['GET', 'POST', 'PUT', 'DELETE']);

/** An answer that is better read by a whole HTTP client. */
export class OtherAnswer extends Error {}

interface Head {
  status: number;
  header(name: string): string | undefined;
  length: number;
}

function endedEarly(): NetworkError {
  const cause = Object.assign(new Error('closed by the other side'), { code: 'ECONNRESET' });
  return new NetworkError('the answer ended too early', { cause });
}

/** A connection that reads to where the bytes belong. */
class Line {
  readonly socket: Socket;
  /** Served a request before, and nothing came since: the other side may have closed it meanwhile. */
  used = false;
  /** For heads, and what comes along with them. */
  readonly scratch = Buffer.allocUnsafeSlow(HEAD_BYTES);
  /** Where the next read goes. The system knows it already: only the read before may change it. */
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
    this.socket.on('close', () => this.onEnd?.(endedEarly()));
  }
}

/**
 * Plain HTTP with a fraction of the work that node:http needs, which is most of the work of a small file: one write
 * for a request, and the system puts the bytes of an answer where they belong. It understands one kind of answer, with
 * a Content-Length and nothing odd. A service that answers otherwise is left to node:http from then on.
 */
export class PlainHttp {
  readonly #idle = new Map<string, Line[]>();
  readonly #others = new Set<string>();

  takes(url: URL, { method, body, fresh }: TransportRequest): boolean {
    if (fresh || url.protocol !== 'http:' || this.#others.has(url.host)) return false;
    const inMemory = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
    return inMemory && METHODS.has(method);
  }

  async exchange(url: URL, request: TransportRequest): Promise<TransportResponse> {
    // The service reads a connection that carries nothing but volumes more quickly.
    const isVolume = request.method === 'PUT' && request.body instanceof Uint8Array;
    const pool = isVolume ? `volumes ${url.host}` : url.host;
    const idle = this.#idle.get(pool) ?? [];
    this.#idle.set(pool, idle);
    let line = idle.pop();
    while (line?.socket.destroyed) line = idle.pop();
    line ??= new Line(url);
    try {
      const response = await exchange(line, url, request);
      // The body's memory is used again by others as soon as this returns: nothing may still be waiting to leave.
      const unsent = line.socket.writableLength > 0;
      if (unsent || response.header('connection')?.toLowerCase() === 'close') {
        line.socket.destroy();
      } else {
        line.used = true;
        line.socket.setTimeout(IDLE_MS).unref();
        idle.push(line);
      }
      return response;
    } catch (error) {
      line.socket.destroy();
      if (error instanceof OtherAnswer) this.#others.add(url.host);
      const lost = error instanceof NetworkError || (error as NodeJS.ErrnoException).code !== undefined;
      const stale = line.used && lost && request.method === 'GET' && !request.signal?.aborted;
      if (stale) throw new OtherAnswer('closed', { cause: error });
      throw error;
    }
  }

  close(): void {
    for (const lines of this.#idle.values()) for (const { socket } of lines) socket.destroy();
    this.#idle.clear();
  }
}

async function exchange(line: Line, url: URL, request: TransportRequest): Promise<TransportResponse> {
  const { signal, quietMs, body: outgoing } = request;
  signal?.throwIfAborted();
  // Bytes are counted the way they go: of a volume that is sent, or of an answer that is wanted.
  const onBytes = outgoing === undefined ? request.onBytes : undefined;
  let filled = 0;
  let head: Head | undefined;
  let body = Buffer.alloc(0);
  let length = 0;

  /** True when the body is whole. */
  const take = (read: number): boolean => {
    line.used = false;
    if (head) {
      length += read;
      onBytes?.(read);
    } else {
      filled += read;
      const stop = line.scratch.subarray(0, filled).indexOf(HEAD_END);
      if (stop < 0) {
        if (filled === HEAD_BYTES) throw new OtherAnswer('a head without an end');
        line.next = line.scratch.subarray(filled);
        return false;
      }
      head = parseHead(line.scratch.toString('latin1', 0, stop));
      if (head.length > mostBytes(request, head.status)) throw new TooLongError();
      const memory =
        (head.status === 200 && request.into?.(head.length)) || Buffer.allocUnsafeSlow(head.length);
      body = Buffer.from(memory.buffer as ArrayBuffer, memory.byteOffset, head.length);
      const early = line.scratch.subarray(stop + HEAD_END.length, filled);
      if (early.length > body.length) throw new OtherAnswer('more than was announced');
      body.set(early);
      length = early.length;
      onBytes?.(length);
    }
    const whole = length === body.length;
    line.next = whole ? line.scratch : body.subarray(length);
    return whole;
  };

  const abort = () => line.onEnd?.(signal!.reason as Error);
  try {
    await new Promise<void>((resolve, reject) => {
      line.onEnd = reject;
      line.onBytes = (read) => {
        try {
          if (take(read)) resolve();
        } catch (error) {
          line.next = line.scratch;
          reject(error);
        }
      };
      signal?.addEventListener('abort', abort, { once: true });
      line.socket.setTimeout(quietMs).ref();
      send(line.socket, url, request);
    });
  } finally {
    line.onEnd = undefined;
    line.onBytes = undefined;
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
    // An end of line among them, which would begin another header.
    if (/[^\x20-\x7e]/.test(line)) throw new OtherAnswer('a header that node:http has to look at');
    head += `${line}\r\n`;
  }
  if (length !== undefined || method !== 'GET') head += `content-length: ${length ?? 0}\r\n`;
  return `${head}\r\n`;
}

function parseHead(text: string): Head {
  const { first = '', headers, length } = readHead(text) ?? {};
  const status = Number(/^HTTP\/1\.1 ([2-5]\d\d)(?: |$)/.exec(first)?.[1]);
  const plain = headers !== undefined && !headers.has('content-encoding');
  if (!plain || Number.isNaN(status) || length === undefined) throw new OtherAnswer(text.slice(0, 80));
  return { status, length, header: (name) => headers.get(name.toLowerCase()) };
}
