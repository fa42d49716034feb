import { type BatchedFile, headers as headerNames, limits, pathOf, routes } from '@szafa/protocol';
import type { TransportRequest, TransportResponse } from '../../http/transport.ts';
import type { NodeTransport } from './transport.ts';

/** Larger files are sent alone: batching gains them little, and they would delay the others. */
const SMALL_BYTES = 256 * 1024;
/** Size limit of one batch: after a lost connection all of it is sent again. */
const MOST_BYTES = 4 * 1024 * 1024;
/** While one batch awaits its answer, the next is sent, and a third collects files. */
const PARALLEL = 2;

/** Statuses of a batch after which each file is sent alone. */
const SEND_ALONE = new Set([400, 403, 404, 405, 409, 411, 413]);
/** Statuses after which no batch is sent to this server again: it, or a proxy in front of it, does not support batches. */
const NEVER_BATCH = new Set([404, 405, 413]);

/** A single-volume file that waits to be sent. */
interface QueuedFile {
  request: TransportRequest;
  body: Uint8Array;
  file: BatchedFile;
  server: string;
  resolve(response: TransportResponse | Promise<TransportResponse>): void;
  reject(error: unknown): void;
  onAbort?: () => void;
}

/**
 * Sends small files together if several are waiting: one request costs both sides less than many. Each caller still sees its own request,
 * with its own response, progress and cancellation, so each file is retried alone under its transfer id.
 */
export function batching(transport: NodeTransport): NodeTransport {
  let queue: QueuedFile[] = [];
  /** Memory of earlier bodies, for reuse. */
  const spare: ArrayBuffer[] = [];
  /** Servers that do not support batches. */
  const unable = new Set<string>();
  let running = 0;
  let isScheduled = false;

  /** Queues a small file; returns undefined for any other request. */
  const enqueue = (request: TransportRequest): Promise<TransportResponse> | undefined => {
    const { call, body, headers, signal } = request;
    if (call?.name !== 'writeFile' || !(body instanceof Uint8Array) || body.length > SMALL_BYTES)
      return undefined;
    const { server, params = {} } = call;
    if (unable.has(server) || signal?.aborted) return undefined;
    const { promise, resolve, reject } = Promise.withResolvers<TransportResponse>();
    const transferId = String(params['transfer_id']);
    const file = { transfer_id: transferId, init: headers[headerNames.init]!, size: body.length };
    const queued: QueuedFile = { request, body, server, file, resolve, reject };
    const abort = () => {
      reject(signal!.reason);
      queued.onAbort?.();
    };
    signal?.addEventListener('abort', abort, { once: true });
    queue.push(queued);
    // Collects the files of one turn of the event loop.
    if (!isScheduled)
      setImmediate(() => {
        isScheduled = false;
        start();
      });
    isScheduled = true;
    return promise.finally(() => signal?.removeEventListener('abort', abort));
  };

  const start = () => {
    queue = queue.filter((one) => !isAborted(one));
    while (running < PARALLEL && queue.length > 0) {
      running++;
      const some = takeBatch();
      void (some.length > 1 ? sendTogether(some) : sendAlone(some)).finally(() => {
        running--;
        start();
      });
    }
  };

  /** Takes the oldest files of one server and token from the queue. */
  const takeBatch = (): QueuedFile[] => {
    const { server, request } = queue[0]!;
    const { authorization } = request.headers;
    let bytes = 0;
    const some = queue
      .filter((one) => one.server === server && one.request.headers['authorization'] === authorization)
      .slice(0, limits.batchFiles)
      .filter(({ file }) => {
        bytes += file.size;
        return bytes <= MOST_BYTES;
      });
    const taken = new Set(some);
    queue = queue.filter((one) => !taken.has(one));
    return some;
  };

  const sendAlone = async (some: QueuedFile[]): Promise<void> => {
    const sent = some.map((one) => {
      const response = transport(one.request);
      one.resolve(response);
      return response;
    });
    await Promise.allSettled(sent);
  };

  const sendTogether = async (some: QueuedFile[]): Promise<void> => {
    const body = joinBodies(some, spare.pop());
    try {
      const response = await transport(batchRequest(some, body));
      const answers = response.status === 200 ? splitAnswer(response, some.length) : undefined;
      if (answers) for (const [at, one] of some.entries()) one.resolve(answers[at]!);
      else if (response.status === 200 || SEND_ALONE.has(response.status)) {
        if (response.status === 200 || NEVER_BATCH.has(response.status)) unable.add(some[0]!.server);
        await sendAlone(some);
      } else for (const one of some) one.resolve(response);
    } catch (error) {
      for (const one of some) one.reject(error);
    } finally {
      spare.push(body.buffer as ArrayBuffer);
    }
  };

  const send = (request: TransportRequest) => enqueue(request) ?? transport(request);
  return Object.assign(send, { close: () => transport.close() });
}

const isAborted = ({ request }: QueuedFile) => request.signal?.aborted === true;

function joinBodies(some: QueuedFile[], memory: ArrayBuffer | undefined): Uint8Array {
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

function batchRequest(some: QueuedFile[], body: Uint8Array): TransportRequest {
  const [{ request, server }] = some as [QueuedFile];
  const { [headerNames.init]: _, ...headers } = request.headers;
  const ended = new AbortController();
  for (const one of some) {
    one.onAbort = () => {
      if (some.every(isAborted)) ended.abort();
    };
  }
  return {
    ...request,
    call: { server, name: 'writeFiles' },
    method: routes.writeFiles.method,
    url: server + pathOf('writeFiles'),
    headers,
    body,
    signal: ended.signal,
    timeoutMs: some.reduce((sum, one) => sum + one.request.timeoutMs, 0),
    onBytes: progressOf(some, body.length),
  };
}

/** Returns a function that divides the bytes sent for a batch among its files. */
function progressOf(some: QueuedFile[], total: number): (bytes: number) => void {
  let moved = 0;
  let end = total - some.reduce((sum, { file }) => sum + file.size, 0);
  const ranges = some.map(({ request, file }) => {
    const start = end;
    end += file.size;
    return { request, start, end };
  });
  return (bytes) => {
    for (const { request, start, end } of ranges) {
      const count = Math.min(moved + bytes, end) - Math.max(moved, start);
      if (count > 0) request.onBytes?.(count);
    }
    moved += bytes;
  };
}

/** Returns one response per file, as if each had been sent alone; undefined if the answer has another form. */
function splitAnswer({ header, body }: TransportResponse, count: number): TransportResponse[] | undefined {
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
