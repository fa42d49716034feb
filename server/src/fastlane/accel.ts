/**
 * GET of a volume where nginx sends the bytes (SZ_ACCEL). The server has so little left to do that Fastify would be half of
 * the cost, so these requests are answered before Fastify sees them. Unusual or refused requests go to Fastify.
 */
import type {
  IncomingHttpHeaders,
  IncomingMessage,
  OutgoingHttpHeaders,
  Server,
  ServerResponse,
} from 'node:http';
import { parseRange, routes } from '@szafa/protocol';
import type { FastifyInstance } from 'fastify';
import { type Identify, type PreAuthenticated, preAuthenticated } from '../accounts/authentication.ts';
import type { Config } from '../config.ts';
import { etagOf, VOLUME_TYPE, volumeHeaders } from '../files/download.ts';
import { addressOf } from '../platform/http/caller-address.ts';
import type { Params } from '../platform/http/params.ts';
import { countUntilClosed, logRequest, REQUEST_ID, type RequestIds } from '../platform/http/request-log.ts';
import { urlOf } from '../platform/http/schemas.ts';
import type { Services } from '../services.ts';
import { plainPath } from './head.ts';

/**
 * With this header nginx offers to send volumes and names the kind of store it can read. nginx always sets or removes it, so
 * clients cannot forge it.
 */
const OFFER = 'x-szafa-accel';
/** Tells nginx what to send in place of our answer; nginx removes this header. */
const REDIRECT = 'x-accel-redirect';
/** The range to request from the store: nginx does not forward the client's headers to it. */
const RANGE = 'x-szafa-range';

const PATH = new RegExp(`^${plainPath(routes.readVolume.path)}$`);
const route = urlOf(routes.readVolume);
/** Requests with a condition or a body are answered by the node. */
const NODE_HEADERS = [
  ...['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since', 'if-range'],
  ...['content-length', 'transfer-encoding'],
];
/** Ranges that nginx interprets as the server does. */
const PLAIN_RANGE = /^bytes=(?:\d{1,15}-\d{0,15}|-\d{1,15})$/;

interface AccelOffer extends PreAuthenticated {
  headers: IncomingHttpHeaders;
  params: Pick<Params, 'file_id' | 'idx'>;
  /** The kind of store that nginx can read. */
  store: string;
}

/** Returns the offer of a trusted nginx, if nginx would answer this request as the server would. */
function readOffer(
  { method, url, headers, socket }: IncomingMessage,
  trusted: Config['trustProxy'],
): AccelOffer | undefined {
  const store = headers[OFFER];
  if (method !== 'GET' || typeof store !== 'string' || !trusted.contains(socket.remoteAddress ?? ''))
    return undefined;
  const [, file_id, idx] = PATH.exec(url!) ?? [];
  const { range } = headers;
  const isPlain =
    !NODE_HEADERS.some((name) => headers[name] !== undefined) &&
    (range === undefined || PLAIN_RANGE.test(range));
  if (!isPlain || file_id === undefined || idx === undefined) return undefined;
  return { params: { file_id, idx }, headers, store } as AccelOffer;
}

interface RequestHooks {
  /** Called before anything else for every request. */
  begin: (request: IncomingMessage, response: ServerResponse) => void;
  idOf: RequestIds;
  /** Headers of every answer. */
  always: OutgoingHttpHeaders;
}

/** Handles the server's requests before Fastify does. */
export function leaveToNginx(
  app: FastifyInstance,
  services: Services,
  identify: Identify,
  { begin, idOf, always }: RequestHooks,
): void {
  const { config, files, metrics } = services;
  const { trustProxy } = config;
  const countOut = metrics.counter('szafa_volume_bytes_total', { direction: 'out' });
  const server = app.server as Server;

  /**
   * Makes nginx send the volume or a range of it. If nginx cannot read the volume, it repeats the request without the offer.
   * Returns false if Fastify must answer.
   */
  const handOver = (
    offer: AccelOffer,
    startedAt: number,
    request: IncomingMessage,
    response: ServerResponse,
  ) => {
    const { params, headers, store, caller, found } = offer;
    const { file, sha256, place } = files.locateVolume(params.file_id, found.file, caller.username);
    const range = parseRange(headers.range, place.size);
    // nginx does not know the accounts' rate limits, and it refuses ranges that the server ignores, such as 9-5. Fastify
    // closes the connections of a stopping server.
    if (caller.downloadRate !== null || place.kind !== store || !server.listening) return false;
    if (range === 'unsatisfiable' || (headers.range !== undefined && !range)) return false;
    const { start, end } = range ?? { start: 0, end: place.size };
    const status = range ? 206 : 200;
    const remote = request.socket.remoteAddress ?? '';
    const reqId = idOf(headers[REQUEST_ID], remote);
    const answerHeaders = volumeHeaders(file, etagOf(sha256));
    answerHeaders[REQUEST_ID] = reqId;
    answerHeaders[REDIRECT] =
      `/szafa-${place.kind}/${place.path.startsWith('/') ? place.path.slice(1) : place.path}`;
    if (range) answerHeaders[RANGE] = `bytes=${range.start}-${range.end - 1}`;
    answerHeaders['content-type'] = VOLUME_TYPE;
    answerHeaders['content-length'] = 0;
    response.writeHead(status, Object.assign(answerHeaders, always)).end();
    // `finish` is not emitted if the client has disconnected; nginx then sends nothing either.
    response.on('finish', () => {
      countOut(end - start);
      logRequest(services, {
        reqId,
        method: 'GET',
        route,
        status,
        ms: performance.now() - startedAt,
        user: caller.username,
        params,
        accel: true,
        ip: addressOf(remote, headers['x-forwarded-for']?.toString(), trustProxy),
      });
    });
    return true;
  };

  const answer = async (offer: AccelOffer, request: IncomingMessage, response: ServerResponse) => {
    const startedAt = performance.now();
    begin(request, response);
    const stopCounting = countUntilClosed(response, metrics);
    try {
      await identify(offer);
      if (handOver(offer, startedAt, request, response)) return;
    } catch (refusal) {
      offer.refusal = refusal;
    }
    // Fastify would wait for a `close` that has already happened.
    if (response.closed) return;
    stopCounting();
    offer.ms = performance.now() - startedAt;
    preAuthenticated.set(request, offer);
    app.routing(request, response);
  };

  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const offer = readOffer(request, trustProxy);
    if (offer) void answer(offer, request, response);
    else app.routing(request, response);
  });
}
