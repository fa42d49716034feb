import { createHash } from 'node:crypto';
import type { Agent, ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { writeHead } from '@szafa/protocol';
import { http, https } from '../http/node-http.ts';
import { percentEncode } from '../percent.ts';
import { retry } from '../retry.ts';
import type { Body } from '../volumes/body.ts';
import { broken, isTransient, OtherAnswer, S3Error, silent, translate } from './errors.ts';
import type { S3Credentials, S3Location } from './location.ts';
import { queryString, Signer, sha256Hex } from './signer.ts';
import { elements, encodeXml, text } from './xml.ts';

export interface S3Request {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** The key below the prefix; undefined for the bucket itself. */
  key?: string | undefined;
  query?: Record<string, string>;
  headers?: Readonly<Record<string, string>>;
}

export interface S3Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export interface S3Object {
  key: string;
  size: number;
  changedAt: number;
}

/** How long the store may be silent, and how long all attempts may take together. */
export interface S3Limits {
  silenceMs: number;
  totalMs: number;
}

/** The unread body of an answer. Always `close` it. */
export interface OpenBody extends Body {
  readonly length: number;
  close(): void;
}

/** Reads objects without TLS faster than node:http. Throws OtherAnswer for any other status, or a body of unknown length. */
export interface ObjectReader {
  fetch(head: string, status: number, silenceMs: number): Promise<OpenBody>;
  close(): void;
}

/** Called for each attempt: `answered` with the time from the last byte sent to the answer, `failed` if there was no answer. */
export interface S3Times {
  answered(method: string, status: number, ms: number): void;
  failed(method: string): void;
}

export interface S3Options extends Partial<S3Limits> {
  /** Awaited before each request that changes something: the store must first prove that it is the right one. */
  beforeChange?: () => Promise<void>;
  times?: S3Times | undefined;
  openReader?: (endpoint: URL, idleMs: number) => ObjectReader;
}

const LIMITS: S3Limits = { silenceMs: 15_000, totalMs: 30_000 };
const EMPTY = sha256Hex('');
const MAX_SOCKETS = 256;
/** Shorter than the timeout of gateways, which might close a connection just as a request is sent. */
const IDLE_MS = 20_000;
const ANSWER_BYTES = 16 * 1024 * 1024;
const DELETES_AT_ONCE = 1000;

/**
 * The part of S3 that the server needs, over node:http. The AWS SDK costs twice the CPU for large requests and several times
 * as much for small ones.
 */
export class S3Client {
  readonly location: S3Location;
  readonly limits: S3Limits;
  readonly beforeChange: () => Promise<void>;
  readonly #times: S3Times | undefined;
  readonly #signer: Signer;
  readonly #transport: typeof http | ReturnType<typeof https>;
  readonly #agent: Agent;
  readonly #reader: ObjectReader | undefined;

  constructor(location: S3Location, credentials: S3Credentials, options: S3Options = {}) {
    const { endpoint, region } = location;
    this.location = location;
    this.limits = { ...LIMITS, ...options };
    this.beforeChange = options.beforeChange ?? (async () => undefined);
    this.#times = options.times;
    this.#signer = new Signer(credentials, region);
    this.#transport = endpoint.protocol === 'https:' ? https() : http;
    const pool = { keepAlive: true, maxSockets: MAX_SOCKETS, timeout: IDLE_MS, noDelay: true };
    this.#agent = new this.#transport.Agent(pool);
    this.#reader = this.#transport === http ? options.openReader?.(endpoint, IDLE_MS) : undefined;
  }

  close(): void {
    this.#agent.destroy();
    this.#reader?.close();
  }

  /** Opens an object through the fast reader. Undefined if there is no fast reader, or the answer needs node:http. No retries. */
  async fetch(request: S3Request, status: number): Promise<OpenBody | undefined> {
    if (!this.#reader) return undefined;
    const { path, headers } = this.#signed(request, EMPTY);
    const head = writeHead(`${request.method} ${path} HTTP/1.1`, headers);
    const startedAt = performance.now();
    try {
      const body = await this.#reader.fetch(head, status, this.limits.silenceMs);
      this.#times?.answered(request.method, status, performance.now() - startedAt);
      return body;
    } catch (error) {
      if (error instanceof OtherAnswer) return undefined;
      this.#times?.failed(request.method);
      throw error;
    }
  }

  /** Starts a request; the caller writes its body, which has `length` bytes and the digest `payload`. No retries. */
  begin(request: S3Request, payload = EMPTY, length = 0): ClientRequest {
    const { endpoint } = this.location;
    const { path, headers } = this.#signed(request, payload);
    const sent = this.#transport.request({
      agent: this.#agent,
      protocol: endpoint.protocol,
      hostname: endpoint.hostname.replace(/^\[|\]$/g, ''),
      port: endpoint.port,
      method: request.method,
      path,
      headers: { ...headers, 'content-length': String(length) },
    });
    if (this.#times) countRequest(sent, request.method, this.#times);
    return sent;
  }

  /** Returns a signed path with which anyone may read the object for this many seconds. */
  signedPath(key: string, seconds: number): string {
    const path = this.#pathOf(key);
    const signable = { method: 'GET', host: this.location.endpoint.host, path, query: {} };
    return `${path}?${queryString(this.#signer.presign(signable, seconds))}`;
  }

  #pathOf(key: string | undefined): string {
    const { bucket, prefix } = this.location;
    return `/${bucket}${key === undefined ? '' : `/${(prefix + key).split('/').map(percentEncode).join('/')}`}`;
  }

  #signed(request: S3Request, payload: string): { path: string; headers: Record<string, string> } {
    const path = this.#pathOf(request.key);
    const query = request.query ?? {};
    const headers = this.#signer.sign({
      method: request.method,
      host: this.location.endpoint.host,
      path,
      query,
      headers: request.headers ?? {},
      payload,
    });
    const search = queryString(query);
    return { path: search === '' ? path : `${path}?${search}`, headers };
  }

  /** Sends a request and reads the answer, with retries. Throws unless the status is 2xx or in `allowed`. */
  async call(
    request: S3Request,
    options: { body?: Uint8Array; allowed?: number[]; silenceMs?: number } = {},
  ): Promise<S3Answer> {
    const { body, allowed = [], silenceMs = this.limits.silenceMs } = options;
    const digest = body ? sha256Hex(body) : EMPTY;
    if (request.method !== 'GET' && request.method !== 'HEAD') await this.beforeChange();
    return this.retry(async () => {
      const sent = this.begin(request, digest, body?.length ?? 0);
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        sent.on('response', resolve).on('error', reject);
        // The agent's timeout closes idle connections; this one detects a store that does not answer.
        sent.setTimeout(silenceMs, () => sent.destroy(silent()));
        sent.end(body);
      });
      const answer = await readAnswer(response);
      if (answer.status < 300 || allowed.includes(answer.status)) return answer;
      throw errorOf(request, answer);
    }, silenceMs);
  }

  /** Repeats an attempt after transient errors, for a bounded time. */
  retry<T>(attempt: () => Promise<T>, silenceMs = this.limits.silenceMs): Promise<T> {
    return retry(attempt, Math.max(this.limits.totalMs, silenceMs), isTransient).catch((error: unknown) => {
      throw translate(error);
    });
  }

  /** Returns undefined if there is no such object. */
  async read(key: string): Promise<Buffer | undefined> {
    const { status, body } = await this.call({ method: 'GET', key }, { allowed: [404] });
    return status === 404 ? undefined : body;
  }

  /** Returns the size of an object; undefined if there is no such object. */
  async size(key: string): Promise<number | undefined> {
    const { status, headers } = await this.call({ method: 'HEAD', key }, { allowed: [404] });
    return status === 404 ? undefined : Number(headers['content-length']);
  }

  /** Writes an object. With `onlyNew`, returns false if the object already exists. */
  async write(key: string, body: Uint8Array, { onlyNew = false } = {}): Promise<boolean> {
    const request: S3Request = { method: 'PUT', key, headers: onlyNew ? { 'if-none-match': '*' } : {} };
    const { status } = await this.call(request, { body, allowed: onlyNew ? [412] : [] });
    return status !== 412;
  }

  async copy(from: string, to: string, silenceMs?: number): Promise<void> {
    const headers = { 'x-amz-copy-source': this.#pathOf(from) };
    const request: S3Request = { method: 'PUT', key: to, headers };
    await this.retry(async () => {
      const answer = await this.call(request, silenceMs === undefined ? {} : { silenceMs });
      // A copy that fails late reports the error inside a 200.
      if (answer.body.includes('<Error>')) throw errorOf(request, answer);
    }, silenceMs);
  }

  async *list(
    prefix: string,
    options: { delimiter?: string; limit?: number; after?: string } = {},
  ): AsyncGenerator<S3Object> {
    const base = this.location.prefix;
    const limit = options.limit ?? Number.POSITIVE_INFINITY;
    let seen = 0;
    for (let token: string | undefined = ''; token !== undefined && seen < limit; ) {
      const query: Record<string, string> = { 'list-type': '2', prefix: base + prefix };
      if (limit < 1000) query['max-keys'] = String(limit);
      if (options.delimiter) query['delimiter'] = options.delimiter;
      if (options.after) query['start-after'] = base + options.after;
      if (token !== '') query['continuation-token'] = token;
      const xml = (await this.call({ method: 'GET', query })).body.toString('utf8');
      for (const entry of [...elements(xml, 'Contents'), ...elements(xml, 'CommonPrefixes')]) {
        seen++;
        yield {
          key: (text(entry, 'Key') ?? text(entry, 'Prefix'))!.slice(base.length),
          size: Number(text(entry, 'Size') ?? 0),
          changedAt: Date.parse(text(entry, 'LastModified') ?? ''),
        };
      }
      token = text(xml, 'IsTruncated') === 'true' ? text(xml, 'NextContinuationToken') : undefined;
    }
  }

  /** Deletes in batches; missing objects are not an error. */
  async delete(keys: string[]): Promise<void> {
    for (let from = 0; from < keys.length; from += DELETES_AT_ONCE) {
      const batch = keys.slice(from, from + DELETES_AT_ONCE).map((key) => this.location.prefix + key);
      const objects = batch.map((key) => `<Object><Key>${encodeXml(key)}</Key></Object>`).join('');
      const body = Buffer.from(`<Delete><Quiet>true</Quiet>${objects}</Delete>`);
      const headers = { 'content-md5': createHash('md5').update(body).digest('base64') };
      await this.retry(async () => {
        const answer = await this.call({ method: 'POST', query: { delete: '' }, headers }, { body });
        // A 200 may report errors for single keys.
        const [failed] = elements(answer.body.toString('utf8'), 'Error');
        if (failed !== undefined) throw new S3Error(500, text(failed, 'Code') ?? '', 'DeleteObjects');
      });
    }
  }
}

/** Counts a request. Failures after the answer has begun are left to its reader. */
function countRequest(sent: ClientRequest, method: string, times: S3Times): void {
  let answered = false;
  let sentAt = performance.now();
  sent.once('finish', () => {
    sentAt = performance.now();
  });
  sent.once('response', ({ statusCode = 0 }) => {
    answered = true;
    times.answered(method, statusCode, performance.now() - sentAt);
  });
  sent.once('error', () => {
    if (!answered && !aborted.has(sent)) times.failed(method);
  });
}

const aborted = new WeakSet<ClientRequest>();

/** Aborts a request without counting a failure of the store. */
export function abortRequest(sent: ClientRequest): void {
  aborted.add(sent);
  sent.destroy();
}

export async function readAnswer(response: IncomingMessage): Promise<S3Answer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > ANSWER_BYTES) throw new S3Error(502, 'AnswerTooLong', 'the store');
    parts.push(part);
  }
  if (!response.complete) throw broken('the answer is incomplete');
  return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(parts) };
}

export function errorOf({ method, key }: S3Request, { status, body }: S3Answer): S3Error {
  const code = text(body.toString('utf8'), 'Code') ?? '';
  return new S3Error(status < 300 ? 500 : status, code, `${method} ${key ?? 'bucket'}`);
}
