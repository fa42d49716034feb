import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { limits } from '@szafa/protocol';
import { http } from '../../platform/http/node-http.ts';
import { type ByteRange, judge, MisfitError, measured, parseRange } from './answer.ts';
import { PullError } from './error.ts';
import type { VolumeAddresses } from './source.ts';
import { SILENCE_MS } from './tool.ts';
import { Turnstile } from './turnstile.ts';
import { RefusedError, Upstream, UpstreamError } from './upstream.ts';

/** So many requests in a row without any answer mean that the client's server is gone. */
const MAX_SILENCES = 16;

export interface ProxyOptions {
  addresses: VolumeAddresses;
  /** Sizes by volume number; only these volumes may be asked for. */
  sizes: ReadonlyMap<number, number>;
  allow: (address: string) => boolean;
  /** Ends the whole pull. */
  stop: (reason: PullError) => void;
}

/**
 * The only way out that the download tool has: a proxy on the loopback, for one pull. It answers for the
 * volumes of this pull and nothing else, makes every connection itself to an address that was checked, and
 * lets no more bytes through than the spec of a volume names.
 */
export class PullProxy {
  /** Volumes whose answer does not fit their spec; the tool gets an error for them, the pull goes on. */
  readonly unfit = new Set<number>();
  /** What the client's server last did wrong, in words without its address. */
  fault: string | undefined;
  readonly #options: ProxyOptions;
  readonly #upstream: Upstream;
  readonly #server: Server;
  readonly #turnstile = new Turnstile(limits.pullDownloads, limits.pullConnections);
  readonly #live = new Map<ServerResponse, number>();
  #silences = 0;

  private constructor(options: ProxyOptions) {
    this.#options = options;
    this.#upstream = new Upstream(options.allow);
    // CONNECT and Upgrade have no listener, so Node closes those connections.
    this.#server = http.createServer((request, response) => {
      const began = Date.now();
      this.#serve(request, response).catch((error: unknown) => this.#fail(error, response, began));
    });
  }

  static async open(options: ProxyOptions): Promise<PullProxy> {
    const proxy = new PullProxy(options);
    // Not shared: in a cluster port 0 is the same port in every worker, and a pull would reach another one's proxy.
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
    if (this.unfit.has(idx)) return end(response, 410);
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
    const gone = new AbortController();
    response.on('close', () => {
      this.#live.delete(response);
      gone.abort();
    });
    this.#live.set(response, idx);
    const leave = await this.#turnstile.enter(idx, gone.signal);
    try {
      const answer = await this.#upstream.get(addresses.real(idx), headers, gone.signal);
      this.#silences = 0;
      try {
        await this.#pass(answer, response, idx, size, asked);
      } finally {
        await drop(answer);
      }
    } finally {
      leave();
    }
  }

  async #pass(
    answer: IncomingMessage,
    response: ServerResponse,
    idx: number,
    size: number,
    asked: ByteRange | undefined,
  ): Promise<void> {
    const status = answer.statusCode ?? 0;
    if (status !== 200 && status !== 206) {
      this.fault = `the client's server answered ${status}`;
      return end(response, status >= 400 && status !== 407 ? status : 502);
    }
    const fit = judge(answer, asked, size);
    if (fit === 'unfit') {
      this.#live.delete(response);
      this.#leaveOut(idx);
      return end(response, 410);
    }
    response.writeHead(fit.status, fit.headers);
    // A server without ranges sends the whole volume again; the headers are all the tool needs to see that.
    if (fit.status === 200 && asked !== undefined && asked.last - asked.first + 1 < size) {
      response.shouldKeepAlive = false;
      response.end();
      return;
    }
    answer.once('error', (error) => {
      const ours = response.destroyed || error instanceof MisfitError;
      if (!ours) this.fault = `the client's server ${words(error)}`;
    });
    try {
      await pipeline(answer, measured(fit.length), response);
    } catch (error) {
      // Otherwise one side broke the connection; the tool asks again for what it still needs.
      if (error instanceof MisfitError) this.#leaveOut(idx);
    }
  }

  /** Ends the other connections of a volume too; the tool hears 410 when it tries again. */
  #leaveOut(idx: number): void {
    this.unfit.add(idx);
    for (const [response, number] of this.#live) if (number === idx) response.destroy();
  }

  #fail(error: unknown, response: ServerResponse, began: number): void {
    if (error instanceof RefusedError) {
      this.#options.stop(new PullError('refused', `pull refused: ${error.message}`));
      end(response, 403);
      return;
    }
    // The tool drops requests that it no longer needs; it gave this one up only if it waited for long.
    if (response.closed && Date.now() - began < SILENCE_MS / 2) return;
    this.fault = `the client's server ${words(error)}`;
    if (++this.#silences >= MAX_SILENCES) {
      this.#options.stop(new PullError('exit', `pull failed: ${this.fault}`));
    }
    // A connection that broke may work the next time, and the tool tries again; other errors are final.
    if (['ECONNRESET', 'EPIPE'].includes(codeOf(error))) response.destroy();
    else end(response, 502);
  }
}

function end(response: ServerResponse, status: number): void {
  if (response.headersSent) response.destroy();
  else response.writeHead(status, { 'content-length': 0 }).end();
}

/** Leaves an answer: its connection is free for the next request, or closed where bytes are still to come. */
async function drop(answer: IncomingMessage): Promise<void> {
  if (answer.complete) answer.resume();
  else if (!answer.socket.closed) {
    await new Promise((resolve) => answer.socket.once('close', resolve).destroy());
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** The messages of network errors name addresses, so only their codes are used. */
function words(error: unknown): string {
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
