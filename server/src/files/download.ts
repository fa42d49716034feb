/** GET of a volume, a thumbnail or the digests of a file: headers, conditions, ranges, and the bytes. */
import { hash } from 'node:crypto';
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { headers, parseRange, toBase64, type Volume } from '@szafa/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { countFault } from '../platform/http/request-log.ts';
import type { Metrics } from '../platform/metrics/registry.ts';
import type { AccountRates, RateLimiter } from '../platform/rate-limit.ts';
import type { OpenVolume } from '../platform/volumes/store.ts';
import type { ReadableFile } from './files-table.ts';
import { unknownFile } from './refusals.ts';

export const VOLUME_TYPE = 'application/octet-stream';

export const etagOf = (sha256: string) => `"${sha256}"`;

const sealedHeaders = (etag: string): OutgoingHttpHeaders => ({
  etag,
  'cache-control': 'private, no-cache',
  'x-content-type-options': 'nosniff',
});

/** Headers of every response with a volume. Visitors do not get the owner's enc_params. */
export function volumeHeaders(file: ReadableFile, etag: string, forVisitor = false): OutgoingHttpHeaders {
  const result = sealedHeaders(etag);
  if (!forVisitor) result[headers.encParams] = toBase64(file.enc_params);
  result[headers.chunkCount] = String(file.chunk_count);
  return result;
}

/** Bytes that are ready to be sent. */
export interface OpenContent {
  sha256: string;
  volume: OpenVolume;
}

/** If `file` is set, the headers of a volume are added; thumbnails and digests have none. */
export interface DownloadContent extends OpenContent {
  file?: ReadableFile;
  forVisitor?: boolean;
}

/** The concatenated digests of all volumes of a file, in order. */
export function openDigests(volumes: readonly Volume[]): OpenContent {
  // The file was deleted after its record was read.
  if (volumes.length === 0) throw unknownFile();
  const bytes = Buffer.concat(volumes.map(({ sha256 }) => Buffer.from(sha256, 'hex')));
  return {
    sha256: hash('sha256', bytes, 'hex'),
    volume: {
      size: bytes.length,
      send: (sink, start, end) =>
        new Promise((resolve, reject) => {
          sink.write(bytes.subarray(start, end), (error) => (error ? reject(error) : resolve()));
        }),
      close: async () => {},
    },
  };
}

/** Sends the content, or the requested range of it, from the store to the socket. Returns the number of bytes sent. */
export async function sendContent(
  request: FastifyRequest,
  reply: FastifyReply,
  { file, sha256, volume, forVisitor }: DownloadContent,
  account: AccountRates,
  { rateLimiter, metrics }: { rateLimiter: RateLimiter; metrics: Metrics },
): Promise<number> {
  const etag = etagOf(sha256);
  const common = {
    ...(reply.getHeaders() as OutgoingHttpHeaders),
    ...(file ? volumeHeaders(file, etag, forVisitor) : sealedHeaders(etag)),
    'accept-ranges': 'bytes',
  };
  try {
    if (matchesEtag(request.headers['if-none-match'], etag)) {
      reply.hijack();
      reply.raw.writeHead(304, common).end();
      return 0;
    }
    const condition = request.headers['if-range'];
    const applies = request.method === 'GET' && (condition === undefined || condition === etag);
    const range = parseRange(applies ? request.headers.range : undefined, volume.size);
    if (range === 'unsatisfiable') {
      reply.headers({ ...common, 'content-range': `bytes */${volume.size}` });
      reply.code(416).send({ error: `the volume has ${volume.size} bytes` });
      return 0;
    }
    const { start, end } = range ?? { start: 0, end: volume.size };
    reply.hijack();
    const response = reply.raw;
    response.writeHead(range ? 206 : 200, {
      ...common,
      'content-type': VOLUME_TYPE,
      'content-length': end - start,
      ...(range ? { 'content-range': `bytes ${start}-${end - 1}/${volume.size}` } : {}),
    });
    if (request.method !== 'HEAD' && end > start) {
      if (!(await waitForTurn(response))) return 0;
      const socket = response.socket!;
      const limited = rateLimiter.limitDownload(socket, account);
      try {
        response.flushHeaders();
        // Bypasses the response, which delays each piece by a tick and keeps lists of them.
        await volume.send(limited.writable, start, end);
      } catch (error) {
        // Content-Length has been sent, so only closing the connection can tell the client that bytes are missing.
        request.log.warn({ err: error }, 'a volume was not sent completely');
        // It is not the server's fault if the client closed the connection.
        if (!socket.destroyed) countFault(metrics, error);
        response.destroy();
        return 0;
      } finally {
        limited.end();
      }
    }
    response.end();
    return request.method === 'HEAD' ? 0 : end - start;
  } finally {
    await volume.close();
  }
}

/**
 * Waits until the responses to earlier requests on this connection have been sent. False if the client has disconnected:
 * bytes written before the turn came would then never complete.
 */
async function waitForTurn(response: ServerResponse): Promise<boolean> {
  const connection = response.req.socket;
  while (!response.socket && !connection.destroyed) {
    await new Promise<void>((resolve) => {
      const proceed = () => {
        response.off('socket', proceed);
        connection.off('close', proceed);
        resolve();
      };
      response.once('socket', proceed);
      connection.once('close', proceed);
    });
  }
  return !connection.destroyed;
}

/** Whether an If-None-Match header contains this tag, by weak comparison. */
export function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.trim() === '*' || header.split(',').some((part) => part.trim().replace(/^W\//, '') === etag);
}
