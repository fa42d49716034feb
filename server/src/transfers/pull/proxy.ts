import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { limits } from '@szafa/protocol';
import { http } from '../../platform/http/node-http.ts';
import { type ByteRange, checkResponse, parseRange, requireLength, WrongLengthError } from './answer.ts';
import type { VolumeAddresses } from './source.ts';
import { PullError, SILENCE_MS } from './tool.ts';
import { RefusedError, Upstream, UpstreamError } from './upstream.ts';

/** After this many consecutive requests without a response, the client's server is considered gone. */
const MAX_FAILURES = 16;

export interface ProxyOptions {
  addresses: VolumeAddresses;
  /** Sizes by volume number; the proxy serves only these volumes. */
  sizes: ReadonlyMap<number, number>;
  allow: (address: string) => boolean;
  /** Ends the whole pull. */
  stop: (reason: PullError) => void;
}

/**
 * A loopback proxy through which the download tool makes all requests of one pull. It serves only the volumes of this pull,
 * connects only to checked addresses, and forwards no more bytes than a volume has.
 */
export class PullProxy {
  /** Volumes whose response does not have the declared size. The tool gets an error for them, and the pull continues. */
  readonly rejected = new Set<number>();
  /** The last error of the client's server, without its address. */
  fault: string | undefined;
  readonly #options: ProxyOptions;
  readonly #upstream: Upstream;
  readonly #server: Server;
  readonly #connections = new ConnectionLimit(limits.pullDownloads, limits.pullConnections);
  /** Open responses, with their volume numbers. */
  readonly #responses = new Map<ServerResponse, number>();
  #failures = 0;

  private constructor(options: ProxyOptions) {
    this.#options = options;
    this.#upstream = new Upstream(options.allow);
    // CONNECT and Upgrade have no listener, so Node closes those connections.
    this.#server = http.createServer((request, response) => {
      const startedAt = Date.now();
      this.#serve(request, response).catch((error: unknown) => this.#fail(error, response, startedAt));
    });
  }

  static async open(options: ProxyOptions): Promise<PullProxy> {
    const proxy = new PullProxy(options);
    // Exclusive: in a cluster, port 0 would be the same port in every worker, and a pull could reach the proxy of another worker.
    proxy.#server.listen({ port: 0, host: '127.0.0.1', exclusive: true });
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    this.#upstream.close();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { addresses, sizes } = this.#options;
    const idx = request.method === 'GET' ? addresses.volumeOf(request.url ?? '') : undefined;
    const size = idx === undefined ? undefined : sizes.get(idx);
    if (idx === undefined || size === undefined) return end(response, 403);
    if (this.rejected.has(idx)) return end(response, 410);
    const headers: Record<string, string> = {};
    let asked: ByteRange | undefined;
    if (request.headers.range !== undefined) {
      const range = parseRange(request.headers.range, size);
      if (range === null) return end(response, 416);
      asked = range;
      headers['range'] = `bytes=${range.first}-${range.last}`;
      const ifRange = request.headers['if-range'];
      if (typeof ifRange === 'string') headers['if-range'] = ifRange;
    }
    const closed = new AbortController();
    response.on('close', () => {
      this.#responses.delete(response);
      closed.abort();
    });
    this.#responses.set(response, idx);
    const release = await this.#connections.acquire(idx, closed.signal);
    try {
      const upstream = await this.#upstream.get(addresses.real(idx), headers, closed.signal);
      this.#failures = 0;
      try {
        await this.#forward(upstream, response, idx, size, asked);
      } finally {
        await discard(upstream);
      }
    } finally {
      release();
    }
  }

  async #forward(
    upstream: IncomingMessage,
    response: ServerResponse,
    idx: number,
    size: number,
    asked: ByteRange | undefined,
  ): Promise<void> {
    const status = upstream.statusCode ?? 0;
    if (status !== 200 && status !== 206) {
      this.fault = `the client's server answered ${status}`;
      return end(response, status >= 400 && status !== 407 ? status : 502);
    }
    const fitting = checkResponse(upstream, asked, size);
    if (!fitting) {
      this.#responses.delete(response);
      this.#reject(idx);
      return end(response, 410);
    }
    response.writeHead(fitting.status, fitting.headers);
    // A server without range support sends the whole volume; the headers alone tell the tool that.
    if (fitting.status === 200 && asked !== undefined && asked.last - asked.first + 1 < size) {
      response.shouldKeepAlive = false;
      response.end();
      return;
    }
    upstream.once('error', (error) => {
      const ours = response.destroyed || error instanceof WrongLengthError;
      if (!ours) this.fault = `the client's server ${describeError(error)}`;
    });
    try {
      await pipeline(upstream, requireLength(fitting.length), response);
    } catch (error) {
      // Any other error is a closed connection: the tool requests the missing bytes again.
      if (error instanceof WrongLengthError) this.#reject(idx);
    }
  }

  /** Rejects a volume and closes all its connections; the tool gets 410 when it tries again. */
  #reject(idx: number): void {
    this.rejected.add(idx);
    for (const [response, number] of this.#responses) if (number === idx) response.destroy();
  }

  #fail(error: unknown, response: ServerResponse, startedAt: number): void {
    if (error instanceof RefusedError) {
      this.#options.stop(new PullError('refused', `pull refused: ${error.message}`));
      end(response, 403);
      return;
    }
    // The tool closes requests that it no longer needs. If it closes one after a long wait, it has given up.
    if (response.closed && Date.now() - startedAt < SILENCE_MS / 2) return;
    this.fault = `the client's server ${describeError(error)}`;
    if (++this.#failures >= MAX_FAILURES) {
      this.#options.stop(new PullError('exit', `pull failed: ${this.fault}`));
    }
    // The tool retries a broken connection; other errors are final.
    if (['ECONNRESET', 'EPIPE'].includes(codeOf(error))) response.destroy();
    else end(response, 502);
  }
}

function end(response: ServerResponse, status: number): void {
  if (response.headersSent) response.destroy();
  else response.writeHead(status, { 'content-length': 0 }).end();
}

/** Frees the connection for the next request, or closes it if more bytes would follow. */
async function discard(upstream: IncomingMessage): Promise<void> {
  if (upstream.complete) upstream.resume();
  else if (!upstream.socket.closed) {
    await new Promise((resolve) => upstream.socket.once('close', resolve).destroy());
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** Describes a network error by its code, because its message would contain addresses. */
function describeError(error: unknown): string {
  if (error instanceof UpstreamError) return error.message;
  const code = codeOf(error);
  if (code === 'ECONNREFUSED') return 'refused the connection';
  if (['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EAI_NODATA'].includes(code))
    return 'has a name that is not known';
  if (['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'].includes(code)) return 'cannot be reached';
  if (['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'].includes(code)) return 'broke the connection';
  if (/CERT|SSL|TLS|SIGNATURE/.test(code)) return 'has a certificate that is not trusted';
  if (code.startsWith('HPE_')) return 'does not speak HTTP';
  return 'does not answer';
}

/**
 * "up to 8 downloads at a time with up to 4 connections each", as the client's server sees it. The tool limits only its
 * connections to the proxy; when it drops one, the other side takes a moment to close.
 */
export class ConnectionLimit {
  readonly #downloads: number;
  readonly #connections: number;
  readonly #open = new Map<number, number>();
  #waiting: { idx: number; proceed: () => void }[] = [];

  constructor(downloads: number, connections: number) {
    this.#downloads = downloads;
    this.#connections = connections;
  }

  /** Waits for permission to open a connection for a volume; call the returned function to release it. */
  async acquire(idx: number, signal: AbortSignal): Promise<() => void> {
    if (!this.#isFree(idx)) {
      await new Promise<void>((resolve, reject) => {
        const waiter = { idx, proceed: resolve };
        this.#waiting.push(waiter);
        signal.addEventListener('abort', () => {
          this.#waiting = this.#waiting.filter((other) => other !== waiter);
          reject(signal.reason);
        });
      });
    } else {
      this.#take(idx);
    }
    return () => this.#release(idx);
  }

  #isFree(idx: number): boolean {
    const open = this.#open.get(idx);
    return open === undefined ? this.#open.size < this.#downloads : open < this.#connections;
  }

  #take(idx: number): void {
    this.#open.set(idx, (this.#open.get(idx) ?? 0) + 1);
  }

  #release(idx: number): void {
    const open = this.#open.get(idx)! - 1;
    if (open === 0) this.#open.delete(idx);
    else this.#open.set(idx, open);
    const next = this.#waiting.findIndex((waiter) => this.#isFree(waiter.idx));
    const [waiter] = next === -1 ? [] : this.#waiting.splice(next, 1);
    if (waiter === undefined) return;
    this.#take(waiter.idx);
    waiter.proceed();
  }
}
