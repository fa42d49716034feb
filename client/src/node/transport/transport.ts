import type { ClientRequest, Agent as HttpAgent, IncomingMessage } from 'node:http';
import { NetworkError, SzafaError, TooLongError, UnexpectedAnswerError } from '../../errors.ts';
import {
  mostBytes,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from '../../http/transport.ts';
import { http, https } from './http.ts';
import { FallbackNeeded, PlainHttp } from './plain-http.ts';

export interface NodeTransportOptions {
  /** Maximum number of node:http connections per server. */
  connections?: number | undefined;
  /** Awaited for every piece of a body, sent or received; see `rateLimit`. */
  throttle?: ((bytes: number) => Promise<void>) | undefined;
}

/** @public */
export interface NodeTransport extends Transport {
  /** Closes idle connections. */
  close(): void;
}

const PIECE = 1024 * 1024;
const THROTTLED_PIECE = 64 * 1024;
const CONNECT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
]);
const CERTIFICATE = /^(CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_TLS_CERT|HOSTNAME_MISMATCH)/;
const NOT_HTTP = /^(HPE_|EPROTO$|ERR_SSL_)/;

/** Sends requests over persistent connections, with `PlainHttp` where possible and node:http otherwise. @public */
export function nodeTransport(options: NodeTransportOptions = {}): NodeTransport {
  const settings = { keepAlive: true, maxSockets: options.connections ?? 16, scheduling: 'lifo' } as const;
  const agents = new Map<string, HttpAgent>();
  const agentFor = (protocol: string) => {
    let agent = agents.get(protocol);
    agent ??= protocol === 'https:' ? new (https().Agent)(settings) : new http.Agent(settings);
    agents.set(protocol, agent);
    return agent;
  };
  const plainHttp = new PlainHttp();
  const transport: Transport = async (request) => {
    const url = new URL(request.url);
    try {
      if (!options.throttle && plainHttp.canSend(url, request)) {
        const response = await plainHttp.exchange(url, request).catch(fallBack(request));
        if (response) return response;
      }
      const agent = request.fresh ? false : agentFor(url.protocol);
      const start = url.protocol === 'https:' ? https().request : http.request;
      return await exchange(start, agent, url, request, options.throttle);
    } catch (error) {
      request.signal?.throwIfAborted();
      throw translate(error as NodeJS.ErrnoException, url);
    }
  };
  const close = () => {
    plainHttp.close();
    for (const agent of agents.values()) agent.destroy();
  };
  return Object.assign(transport, { close });
}

/** Lets node:http repeat a GET. Other requests fail, and the caller's retry policy decides. */
function fallBack({ method }: TransportRequest): (error: Error) => undefined {
  return (error) => {
    if (!(error instanceof FallbackNeeded)) throw error;
    if (method !== 'GET') throw new NetworkError('the answer could not be read', { cause: error });
  };
}

type Throttle = NodeTransportOptions['throttle'];

function exchange(
  start: typeof http.request,
  agent: HttpAgent | false,
  url: URL,
  request: TransportRequest,
  throttle: Throttle,
): Promise<TransportResponse> {
  const { method, signal, quietMs, body } = request;
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const headers = bytes ? { ...request.headers, 'content-length': bytes.length } : request.headers;
  return new Promise((resolveNow, rejectNow) => {
    // The caller reuses the body's memory as soon as this settles, so the request must not hold unsent data.
    const stopSending = () => {
      if (bytes && !outgoing.writableFinished) outgoing.destroy();
    };
    const resolve = (response: TransportResponse) => {
      stopSending();
      resolveNow(response);
    };
    const reject = (error: Error) => {
      stopSending();
      rejectNow(error);
    };
    const outgoing = start(url, { method, headers, agent, ...(signal && { signal }) });
    outgoing.setTimeout(quietMs, () =>
      outgoing.destroy(new NetworkError('the server did not answer in time')),
    );
    outgoing.on('error', reject);
    outgoing.on('response', (response) => {
      receive(response, request, throttle).then(resolve, (error: Error) => {
        outgoing.destroy();
        reject(error);
      });
    });
    if (!bytes) outgoing.end();
    else send(outgoing, bytes, request, throttle).catch((error: Error) => outgoing.destroy(error));
  });
}

async function send(
  outgoing: ClientRequest,
  bytes: Uint8Array,
  { onBytes }: TransportRequest,
  throttle: Throttle,
): Promise<void> {
  const size = throttle ? THROTTLED_PIECE : PIECE;
  for (let at = 0; at < bytes.length; at += size) {
    const piece = bytes.subarray(at, at + size);
    await throttle?.(piece.length);
    if (outgoing.destroyed) return;
    outgoing.write(piece, (error) => {
      if (!error) onBytes?.(piece.length);
    });
  }
  outgoing.end();
}

async function receive(
  response: IncomingMessage,
  request: TransportRequest,
  throttle: Throttle,
): Promise<TransportResponse> {
  const status = response.statusCode ?? 0;
  const header = (name: string) => {
    const value = response.headers[name.toLowerCase()];
    return Array.isArray(value) ? value.join(', ') : value;
  };
  const wanted = status >= 200 && status < 300 ? request.onBytes : undefined;
  const download = request.body === undefined;
  const declared = request.method === 'HEAD' ? 0 : Number(header('content-length') ?? Number.NaN);
  const most = mostBytes(request, status);
  if (declared > most) throw new TooLongError();
  const known = Number.isSafeInteger(declared);
  const into = known && wanted !== undefined && request.method === 'GET' ? request.into : undefined;
  const whole = known ? (into?.(declared) ?? new Uint8Array(declared)) : undefined;
  const parts: Uint8Array[] = [];
  let length = 0;
  // Uses events instead of iteration: at a gigabyte per second, a promise for each 64 KiB is measurable.
  await new Promise<void>((resolve, reject) => {
    let turn = Promise.resolve();
    response.on('data', (part: Uint8Array) => {
      if (length + part.length > (whole?.length ?? most)) {
        reject(new TooLongError());
        return;
      }
      if (whole) whole.set(part, length);
      else parts.push(part);
      length += part.length;
      if (!download) return;
      wanted?.(part.length);
      if (!throttle) return;
      response.pause();
      // Data that was already parsed still arrives after the pause, so the waits are chained.
      turn = turn.then(() => throttle(part.length)).then(() => void response.resume());
      turn.catch(reject);
    });
    response.on('end', () => turn.then(resolve, reject));
    response.on('error', reject);
    response.on('close', () => {
      if (!response.complete) reject(new NetworkError('the answer ended too early'));
    });
  });
  return { status, header, body: whole ?? Buffer.concat(parts) };
}

function translate(error: NodeJS.ErrnoException, url: URL): Error {
  if (error instanceof SzafaError) return error;
  const code = error.code ?? '';
  const where = url.host;
  if (CERTIFICATE.test(code)) {
    // Removes Node's advice about command-line options, which do not apply here.
    const why = error.message.replace(/; if the root CA is installed locally.*$/s, '');
    const message = `the certificate of ${where} is not accepted: ${why}`;
    return new NetworkError(message, { cause: error, certificate: true, sent: false });
  }
  if (NOT_HTTP.test(code))
    return new UnexpectedAnswerError(url.origin, 0, `something that is not HTTP (${code})`, { cause: error });
  if (CONNECT.has(code))
    return new NetworkError(`${where} cannot be reached (${code})`, { cause: error, sent: false });
  return new NetworkError(`the connection to ${where} was lost (${code || error.message})`, { cause: error });
}

/** Returns a `throttle` that limits all connections together to this rate. @public */
export function rateLimit(bytesPerSecond: number): (bytes: number) => Promise<void> {
  let free = Date.now();
  return async (bytes) => {
    const start = Math.max(free, Date.now());
    free = start + (bytes / bytesPerSecond) * 1000;
    const wait = start - Date.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
  };
}
