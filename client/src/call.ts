/** Calls any route of the server by name. The route table provides the types of parameters, bodies and answers. */
import {
  DIGEST_BYTES,
  findMismatch,
  headers as headerNames,
  type JsonRouteName,
  limits,
  pathOf,
  type RouteAnswer,
  type RouteBody,
  type RouteHeaders,
  type RouteName,
  type RouteParams,
  type RouteQuery,
  routes,
} from '@szafa/protocol';
import { ApiError, NetworkError, UnexpectedAnswerError } from './errors.ts';
import { checkServer, errorOf, GONE, parseJson } from './http/answer.ts';
import { defaultRetry, type RetryPolicy, withRetry } from './http/retry.ts';
import {
  fetchTransport,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from './http/transport.ts';

/** @public */
export interface ApiOptions {
  /** Address of the server. */
  server: string;
  token?: string | undefined;
  transport?: Transport | undefined;
  retry?: Partial<RetryPolicy> | undefined;
  /** Called before each wait for a retry. */
  onRetry?: ((error: Error, waitMs: number) => void) | undefined;
}

/** Options of every call. @public */
export interface CallOptions {
  signal?: AbortSignal | undefined;
}

/** Options of calls that transfer a volume. */
export interface VolumeOptions extends CallOptions {
  /** Called with body bytes as they are sent or received; negative if an attempt failed. */
  onBytes?: ((bytes: number) => void) | undefined;
  /** Provides memory for an answer of known length. */
  into?: ((length: number) => Uint8Array) | undefined;
}

/** Bytes from `from` up to but not including `to`. @public */
export interface ByteRange {
  from: number;
  to: number;
}

type Table = typeof routes;
type IfPresent<Value, Members> = [Value] extends [never] ? unknown : Members;
type Body<N extends RouteName> = Table[N] extends { optionalBody: true }
  ? { body?: RouteBody<N> }
  : { body: RouteBody<N> };

/** The arguments of a call to a route. @public */
export type RouteRequest<N extends RouteName> = VolumeOptions & {
  range?: ByteRange | undefined;
  /** Limit for the answer of routes that return a volume. */
  maxBytes?: number;
} & IfPresent<keyof RouteParams<N>, { params: RouteParams<N> }> &
  IfPresent<RouteBody<N>, Body<N>> &
  IfPresent<RouteQuery<N>, { query?: RouteQuery<N> }> &
  IfPresent<RouteHeaders<N>, { headers?: RouteHeaders<N> }> &
  (Table[N] extends { rawBody: unknown } ? { bytes: Uint8Array } : unknown);

type RequestArguments<N extends RouteName> =
  Record<never, never> extends RouteRequest<N> ? [request?: RouteRequest<N>] : [request: RouteRequest<N>];

/** A request of any route, in the form that `send` uses. */
interface AnyRequest extends VolumeOptions {
  params?: Record<string, string | number>;
  query?: Record<string, string | number | undefined>;
  headers?: Record<string, string | undefined>;
  body?: object;
  bytes?: Uint8Array;
  range?: ByteRange | undefined;
  maxBytes?: number;
}

interface Traits {
  /** Retry only if the server cannot have acted: a second attempt would report the success of the first as a conflict. */
  once?: boolean;
  /** If an attempt got no answer, a 404 for the next one means that the first succeeded. */
  removes?: true;
  /** The answer is long and is processed while it arrives. */
  streams?: true;
  timeoutMs?: number;
  maxBytes?: number;
}

const JSON_BYTES = 64 * 1024 * 1024;
const QUIET_MS = 60_000;
const LONG_MS = 10 * QUIET_MS;
/** The slowest connection that can transfer a volume without a timeout. */
const SLOW_BYTES_PER_MS = 16;
const DIGESTS = { maxBytes: limits.volumesPerFile * DIGEST_BYTES };
/** Size of a thumbnail in base64, its header, and the JSON around them. */
const READ_THUMBNAIL_BYTES = limits.thumbnailBytes * 1.5 + limits.encParamsBase64Bytes + 1024;

/**
 * Routes that need special handling. All others may be retried: they only read, or lead to the same state. A repeated `init` leaves at
 * most an empty transfer, which the server removes.
 */
const traits: Partial<Record<RouteName, Traits>> = {
  register: { once: true },
  logout: { once: true },
  changePassword: { once: true },
  finishRecovery: { once: true },
  leave: { once: true, timeoutMs: LONG_MS },
  createToken: { once: true },
  setTotp: { once: true },
  removeTotp: { once: true },
  passkeyLogin: { once: true },
  addPasskey: { once: true },
  removePasskey: { once: true },
  createDir: { once: true },
  cloneFile: { once: true, timeoutMs: LONG_MS },
  pull: { once: true, timeoutMs: limits.pullSeconds * 1000 + QUIET_MS },
  complete: { timeoutMs: LONG_MS },
  deleteFile: { removes: true },
  deleteDir: { removes: true },
  cancel: { removes: true },
  endSession: { removes: true },
  endShare: { removes: true },
  endReceived: { removes: true },
  endRequest: { removes: true },
  readVolume: { streams: true },
  readSharedVolume: { streams: true },
  readDigests: DIGESTS,
  readSharedDigests: DIGESTS,
  readThumbnail: { maxBytes: limits.thumbnailBytes },
  readThumbnails: { maxBytes: limits.thumbnailsPerBatch * READ_THUMBNAIL_BYTES },
};

/** A client of one server: one typed method for all routes. @public */
export class Api {
  readonly server: string;
  token: string | undefined;
  readonly #transport: Transport;
  readonly #policy: RetryPolicy;
  readonly #onRetry: ApiOptions['onRetry'];

  /** @throws SzafaError with code `address` if `server` is not an http or https address */
  constructor(options: ApiOptions) {
    this.server = checkServer(options.server);
    this.token = options.token;
    this.#transport = options.transport ?? fetchTransport;
    this.#policy = { ...defaultRetry, ...options.retry };
    this.#onRetry = options.onRetry;
  }

  /**
   * Calls a route that answers with JSON.
   * @param name the route's name in the table, such as `createDir`
   * @returns the answer, validated by the schema of the route
   * @throws ApiError if the server refuses, NetworkError without an answer, UnexpectedAnswerError for any other answer
   */
  async call<N extends JsonRouteName>(name: N, ...request: RequestArguments<N>): Promise<RouteAnswer<N>> {
    return this.parse(name, await this.send(name, ...request));
  }

  /** Parses the JSON of an answer and validates it with the schema of its route. */
  parse<N extends JsonRouteName>(name: N, response: TransportResponse): RouteAnswer<N> {
    const value = parseJson(response, this.server);
    if (response === GONE) return value as RouteAnswer<N>;
    const wrong = findMismatch(routes[name].responses[200], value);
    if (wrong === undefined) return value as RouteAnswer<N>;
    throw this.unexpected(response, `unexpected JSON (${name}${wrong === '' ? '' : `: ${wrong}`})`);
  }

  /** Creates the error for an answer that a szafa server never gives. */
  unexpected({ status }: TransportResponse, what: string): UnexpectedAnswerError {
    return new UnexpectedAnswerError(this.server, status, what);
  }

  /** Calls any route and returns the raw answer. */
  send<N extends RouteName>(name: N, ...[request]: RequestArguments<N>): Promise<TransportResponse> {
    const { signal, into, onBytes, ...call }: AnyRequest = request ?? {};
    const { once = false, removes, streams, ...trait }: Traits = traits[name] ?? {};
    const route = routes[name];
    const { maxBytes = trait.maxBytes ?? JSON_BYTES } = call;
    const volumeBytes = call.bytes?.length ?? (streams ? maxBytes : 0);
    const timeoutMs = trait.timeoutMs ?? Math.ceil(QUIET_MS + volumeBytes / SLOW_BYTES_PER_MS);
    const prepared: TransportRequest = {
      call: { server: this.server, name, params: call.params },
      method: route.method,
      url: `${this.server}${pathOf(name, call.params)}${queryText(call.query)}`,
      headers: this.#headers(call, route.access !== 'open'),
      body: call.bytes ?? (call.body && JSON.stringify(call.body)),
      maxBytes,
      timeoutMs,
      quietMs: streams || call.bytes ? QUIET_MS : timeoutMs,
      fresh: once,
      ...{ signal, into },
    };
    let unanswered = false;
    const retry = { policy: this.#policy, once, signal, onRetry: this.#onRetry };
    return withRetry(retry, async () => {
      let counted = 0;
      const count = (bytes: number) => {
        counted += bytes;
        onBytes?.(bytes);
      };
      try {
        const response = await this.#transport({ ...prepared, onBytes: count });
        if (response.status >= 200 && response.status < 300) return response;
        if (response.status === 404 && unanswered && removes) return GONE;
        throw errorOf(response, this.server);
      } catch (error) {
        unanswered ||= error instanceof NetworkError;
        if (counted > 0) onBytes?.(-counted);
        throw error;
      }
    });
  }

  #headers({ headers, body, bytes, range }: AnyRequest, needsToken: boolean): Record<string, string> {
    const all: Record<string, string> = { accept: 'application/json, application/octet-stream' };
    for (const [name, value] of Object.entries(headers ?? {})) if (value !== undefined) all[name] = value;
    if (range) all['range'] = `bytes=${range.from}-${range.to - 1}`;
    if (needsToken && this.token !== undefined) all['authorization'] = `Bearer ${this.token}`;
    if (body) all['content-type'] = 'application/json';
    if (bytes) all['content-type'] = 'application/octet-stream';
    return all;
  }
}

function queryText(query: AnyRequest['query'] = {}): string {
  const set = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== undefined) set.set(key, String(value));
  return set.size > 0 ? `?${set}` : '';
}

/** Whether the server refused with one of these statuses. */
export const hasStatus = (error: unknown, ...statuses: number[]): error is ApiError =>
  error instanceof ApiError && statuses.includes(error.status);

/** Whether the server does not know the route: it is older, or another implementation of the protocol. */
export const isUnknownRoute = (error: unknown): error is ApiError => hasStatus(error, 404, 405);

/** Headers by which a visitor proves that they know a link. */
export const linkHeaders = (access: string, ticket?: string) => ({
  [headerNames.shareAccess]: access,
  [headerNames.shareTicket]: ticket,
});
