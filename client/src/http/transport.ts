import type { RouteName } from '@szafa/protocol';
import { NetworkError, SzafaError, TooLongError } from '../errors.ts';
import { partsOf } from './body-parts.ts';

/** One HTTP exchange with complete bodies, none larger than a volume. @public */
export interface TransportRequest {
  /** The call that this request carries, for transports that treat some calls differently. */
  call?: { server: string; name: RouteName; params?: Record<string, string | number> | undefined };
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: Uint8Array | string | undefined;
  signal?: AbortSignal | undefined;
  /** Longest response body; a longer one is cut off with a TooLongError. See `mostBytes`. */
  maxBytes: number;
  /** Time limit for the whole exchange. */
  timeoutMs: number;
  /** Longest time without any byte, for transports that can observe it. */
  quietMs: number;
  /** Use a new connection, for calls that must not be repeated: the server may be closing an idle one. */
  fresh?: boolean | undefined;
  /** Provides memory for a successful body of known length. */
  into?: ((length: number) => Uint8Array) | undefined;
  /** Called with body bytes as they are sent or received; negative if an attempt failed. */
  onBytes?: ((bytes: number) => void) | undefined;
}

export interface TransportResponse {
  status: number;
  header(name: string): string | undefined;
  body: Uint8Array;
}

/** @throws NetworkError without an answer; the signal's reason if it was aborted @public */
export type Transport = (request: TransportRequest) => Promise<TransportResponse>;

/** Body limit of a refusal, even if a shorter volume was requested. */
const REFUSAL_BYTES = 64 * 1024;

/** Returns the longest body that an answer of this status may have. */
export function mostBytes({ maxBytes }: TransportRequest, status: number): number {
  return status >= 200 && status < 300 ? maxBytes : Math.max(maxBytes, REFUSAL_BYTES);
}

async function readBody(response: Response, request: TransportRequest): Promise<Uint8Array> {
  if (!response.body) return new Uint8Array(0);
  const declared = Number(response.headers.get('content-length') ?? Number.NaN);
  const encoded = response.headers.has('content-encoding');
  const most = mostBytes(request, response.status);
  if (declared > most) throw new TooLongError();
  const known = Number.isSafeInteger(declared) && !encoded && request.method !== 'HEAD';
  const whole = known && response.ok ? (request.into?.(declared) ?? new Uint8Array(declared)) : undefined;
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of partsOf(response.body)) {
    if (length + part.length > (whole?.length ?? most)) throw new TooLongError();
    if (whole) whole.set(part, length);
    else parts.push(part.slice());
    length += part.length;
    request.onBytes?.(part.length);
  }
  if (whole) {
    if (length !== whole.length) throw new NetworkError('the answer ended too early');
    return whole;
  }
  return new Uint8Array(await new Blob(parts as Uint8Array<ArrayBuffer>[]).arrayBuffer());
}

/** The default transport, based on `fetch`. @public */
export const fetchTransport: Transport = async (request) => {
  const timeout = AbortSignal.timeout(request.timeoutMs);
  const signal = request.signal ? AbortSignal.any([request.signal, timeout]) : timeout;
  const isShared = request.body instanceof Uint8Array && !(request.body.buffer instanceof ArrayBuffer);
  // fetch would send shared memory, which Node's engine uses, as text.
  const body = isShared ? (request.body as Uint8Array).slice() : request.body;
  const isVolume = typeof body === 'object';
  try {
    const response = await fetch(request.url, {
      method: request.method,
      headers: request.headers,
      body: (body as Uint8Array<ArrayBuffer> | string | undefined) ?? null,
      signal,
      // The bearer token must not reach another server.
      redirect: 'error',
      // There are no cookies, but browsers use separate connections for requests without credentials. The server reads a connection
      // faster if it carries only volumes.
      credentials: isVolume ? 'omit' : 'same-origin',
      cache: 'no-store',
    });
    const answer = await readBody(response, request);
    if (isVolume) request.onBytes?.(body.length);
    return {
      status: response.status,
      header: (name) => response.headers.get(name) ?? undefined,
      body: answer,
    };
  } catch (cause) {
    request.signal?.throwIfAborted();
    if (cause instanceof SzafaError) throw cause;
    if (timeout.aborted) throw new NetworkError('the server did not answer in time', { cause });
    throw new NetworkError('the server cannot be reached', { cause });
  }
};
