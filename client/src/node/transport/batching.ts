import { type BatchedFile, headers as headerNames, limits, pathOf, routes } from '@szafa/protocol';
import type { TransportRequest, TransportResponse } from '../../http/transport.ts';
import type { NodeTransport } from './transport.ts';

/** What is larger is quick enough by itself, and would keep others waiting. */
const SMALL_BYTES = 256 * 1024;
/** Of one request: what is lost with a connection is sent again. */
const MOST_BYTES = 4 * 1024 * 1024;
/** While one is answered the next one is sent, and a third is gathered. */
const AT_ONCE = 2;

const FILE = /^(.*)\/api\/transfer\/([\w-]+)\/file$/;
/** By which all are refused that may be taken one by one. */
const APART = new Set([400, 403, 404, 405, 409, 411, 413]);
/** By which a service, or what is before it, says that it never takes them together. */
const NEVER = new Set([404, 405, 413]);

/** A file of one volume that is to be sent. */
interface Waiting {
  request: TransportRequest;
  body: Uint8Array;
  file: BatchedFile;
  /** The address of the service. */
  server: string;
  resolve(response: TransportResponse | Promise<TransportResponse>): void;
  reject(error: unknown): void;
  /** Called when nobody waits for its answer any more. */
  onAbort?: () => void;
}

/**
 * Sends small files together where several wait at the same time: one request costs both sides less than many do. To whoever
 * sends them each is a request of its own, with its answer, its progress and its end. So each is tried again by itself, under the id that it had.
 */
export function batching(transport: NodeTransport): NodeTransport {
  const batches = new Batches(transport);
  const send = (request: TransportRequest) => batches.send(request) ?? transport(request);
  return Object.assign(send, { close: () => transport.close() });
}

const isAborted = ({ request }: Waiting) => request.signal?.aborted === true;

class Batches {
  readonly #transport: NodeTransport;
  #waiting: Waiting[] = [];
  /** Memory for bodies that others have been sent from. */
  readonly #spare: ArrayBuffer[] = [];
  /** Services that take no files together. */
  readonly #apart = new Set<string>();
  #running = 0;
  #gathering: NodeJS.Immediate | undefined;

  constructor(transport: NodeTransport) {
    this.#transport = transport;
  }

  /** Undefined for what goes by itself. */
  send(request: TransportRequest): Promise<TransportResponse> | undefined {
    const { method, body, headers, signal } = request;
    const init = headers[headerNames.init];
    if (method !== 'PUT' || init === undefined || !(body instanceof Uint8Array)) return undefined;
    const [, server, transferId] = FILE.exec(request.url) ?? [];
    const isSmall = body.length <= SMALL_BYTES;
    if (!isSmall || server === undefined || this.#apart.has(server) || signal?.aborted) return undefined;
    const { promise, resolve, reject } = Promise.withResolvers<TransportResponse>();
    const file = { transfer_id: transferId!, init, size: body.length };
    const one: Waiting = { request, body, server, file, resolve, reject };
    const abort = () => {
      reject(signal!.reason);
      one.onAbort?.();
    };
    signal?.addEventListener('abort', abort, { once: true });
    this.#waiting.push(one);
    // Whoever comes in this turn of the event loop comes along.
    this.#gathering ??= setImmediate(() => {
      this.#gathering = undefined;
      this.#go();
    });
    return promise.finally(() => signal?.removeEventListener('abort', abort));
  }

  #go(): void {
    this.#waiting = this.#waiting.filter((one) => !isAborted(one));
    while (this.#running < AT_ONCE && this.#waiting.length > 0) {
      this.#running++;
      const some = this.#next();
      void (some.length > 1 ? this.#together(some) : this.#apartFrom(some)).finally(() => {
        this.#running--;
        this.#go();
      });
    }
  }

  /** Those that waited for longest, of one service and caller. */
  #next(): Waiting[] {
    const { server, request } = this.#waiting[0]!;
    const { authorization } = request.headers;
    let bytes = 0;
    const some = this.#waiting
      .filter((one) => one.server === server && one.request.headers['authorization'] === authorization)
      .slice(0, limits.batchFiles)
      .filter(({ file }) => {
        bytes += file.size;
        return bytes <= MOST_BYTES;
      });
    const taken = new Set(some);
    this.#waiting = this.#waiting.filter((one) => !taken.has(one));
    return some;
  }

  async #apartFrom(some: Waiting[]): Promise<void> {
    const sent = some.map((one) => {
      const response = this.#transport(one.request);
      one.resolve(response);
      return response;
    });
    await Promise.allSettled(sent);
  }

  async #together(some: Waiting[]): Promise<void> {
    const body = bodyOf(some, this.#spare.pop());
    try {
      const response = await this.#transport(requestOf(some, body));
      const answers = response.status === 200 ? answersIn(response, some.length) : undefined;
      if (answers) for (const [at, one] of some.entries()) one.resolve(answers[at]!);
      else if (response.status === 200 || APART.has(response.status)) {
        if (response.status === 200 || NEVER.has(response.status)) this.#apart.add(some[0]!.server);
        await this.#apartFrom(some);
      } else for (const one of some) one.resolve(response);
    } catch (error) {
      for (const one of some) one.reject(error);
    } finally {
      this.#spare.push(body.buffer as ArrayBuffer);
    }
  }
}

function bodyOf(some: Waiting[], memory: ArrayBuffer | undefined): Uint8Array {
  const line = Buffer.from(`${JSON.stringify({ files: some.map(({ file }) => file) })}\n`);
  const length = some.reduce((sum, { file }) => sum + file.size, line.length);
  const isEnough = memory !== undefined && memory.byteLength >= length;
  const body = new Uint8Array(isEnough ? memory : new ArrayBuffer(length), 0, length);
  body.set(line);
  let at = line.length;
  for (const one of some) {
    body.set(one.body, at);
    at += one.body.length;
  }
  return body;
}

function requestOf(some: Waiting[], body: Uint8Array): TransportRequest {
  const [{ request, server }] = some as [Waiting];
  const { [headerNames.init]: _, ...headers } = request.headers;
  const ended = new AbortController();
  for (const one of some) {
    one.onAbort = () => {
      if (some.every(isAborted)) ended.abort();
    };
  }
  return {
    ...request,
    method: routes.writeFiles.method,
    url: server + pathOf('writeFiles'),
    headers,
    body,
    signal: ended.signal,
    timeoutMs: some.reduce((sum, one) => sum + one.request.timeoutMs, 0),
    onBytes: sharesOf(some, body.length),
  };
}

/** Tells each how much of it has left, as the bytes of all of them leave. */
function sharesOf(some: Waiting[], total: number): (bytes: number) => void {
  let moved = 0;
  let end = total - some.reduce((sum, { file }) => sum + file.size, 0);
  const shares = some.map(({ request, file }) => {
    const start = end;
    end += file.size;
    return { request, start, end };
  });
  return (bytes) => {
    for (const { request, start, end } of shares) {
      const count = Math.min(moved + bytes, end) - Math.max(moved, start);
      if (count > 0) request.onBytes?.(count);
    }
    moved += bytes;
  };
}

/** An answer for each, as it would have been by itself; undefined where it is not of that form. */
function answersIn({ header, body }: TransportResponse, count: number): TransportResponse[] | undefined {
  let files: unknown;
  try {
    ({ files } = JSON.parse(new TextDecoder().decode(body)) as { files: unknown });
  } catch {
    return undefined;
  }
  if (!Array.isArray(files) || files.length !== count) return undefined;
  const answers = (files as unknown[]).flatMap((answer) => {
    const status = (answer as { status?: unknown } | null)?.status;
    const own = status === 200 ? { ...(answer as object), status: 'done' } : answer;
    const body = new TextEncoder().encode(JSON.stringify(own));
    return typeof status === 'number' && status >= 200 && status < 600 ? [{ status, header, body }] : [];
  });
  return answers.length === count ? answers : undefined;
}
