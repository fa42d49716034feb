import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Writable } from 'node:stream';
import { type Sink, streamBody } from '../volumes/body.ts';
import type { SegmentPool } from '../volumes/segments.ts';
import { SocketSink } from '../volumes/socket-sink.ts';
import { errorOf, type OpenBody, readAnswer, type S3Client, type S3Request } from './client.ts';
import { broken, S3Error, silent } from './errors.ts';

/** Opens a range of an object. */
export async function openRange(
  client: S3Client,
  key: string,
  start: number,
  end?: number,
): Promise<OpenBody> {
  const whole = start === 0 && end === undefined;
  const headers: Record<string, string> = whole
    ? {}
    : { range: `bytes=${start}-${end === undefined ? '' : end - 1}` };
  const request: S3Request = { method: 'GET', key, headers };
  const status = whole ? 200 : 206;
  const body = (await client.fetch(request, status)) ?? (await openByHttp(client, request, status));
  if (end === undefined || Number.isNaN(body.length) || body.length === end - start) return body;
  body.close();
  throw new S3Error(502, 'WrongLength', `GET ${key}`);
}

/** Opens an object through node:http, which supports TLS and every kind of answer. */
async function openByHttp(client: S3Client, what: S3Request, status: number): Promise<OpenBody> {
  const request = client.begin(what);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request.on('response', resolve).on('error', reject);
    request.setTimeout(client.limits.silenceMs, () => request.destroy(silent()));
    request.end();
  });
  if (response.statusCode === status) return httpBody(request, response);
  throw errorOf(what, await readAnswer(response));
}

/** The length is NaN if the store does not report it. */
function httpBody(request: ClientRequest, response: IncomingMessage): OpenBody {
  let sinkIsFull = false;
  request.removeAllListeners('timeout');
  // A connection waiting for the sink does not count as silent.
  request.on('timeout', () => {
    if (!sinkIsFull) request.destroy(silent());
  });
  // The reader gets this error too.
  response.on('error', () => undefined);
  const watch = (sink: Sink): Sink => ({
    target: () => sink.target(),
    advance: (count) => {
      const wait = sink.advance(count);
      sinkIsFull = wait !== undefined;
      return wait?.finally(() => {
        sinkIsFull = false;
      });
    },
  });
  return {
    length: Number(response.headers['content-length']),
    pour: (sink) => streamBody(response).pour(watch(sink)),
    close: () => response.destroy(),
  };
}

/** Sends a range to the writable. If the store disconnects, it continues from the same position. */
export async function sendRange(
  client: S3Client,
  pool: SegmentPool,
  key: string,
  writable: Writable,
  { start, end, opened }: { start: number; end: number; opened?: OpenBody | undefined },
): Promise<void> {
  const socketSink = new SocketSink(writable, end - start, pool);
  let body = opened;
  try {
    await client.retry(async () => {
      body ??= await openRange(client, key, start + socketSink.received, end);
      try {
        await body.pour(socketSink);
      } finally {
        body.close();
        body = undefined;
      }
      if (socketSink.received < end - start) throw broken('the store sent too little');
    });
    await socketSink.finish();
  } finally {
    await socketSink.close();
  }
}
