import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import { headers, parseRange, toBase64 } from '@szafa/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OpenVolume } from '../platform/volumes/store.ts';
import type { ReadableFile } from './files-table.ts';

export const VOLUME_TYPE = 'application/octet-stream';

export const tagOf = (sha256: string) => `"${sha256}"`;

/** What every answer with sealed bytes says of them. */
const sealedHeaders = (tag: string): OutgoingHttpHeaders => ({
  etag: tag,
  'cache-control': 'private, no-cache',
  'x-content-type-options': 'nosniff',
});

/** What every answer with a volume says of it, beside what nginx says of the bytes where it sends them. Visitors get no enc_params, which are the owner's. */
export function volumeHeaders(file: ReadableFile, tag: string, forVisitor = false): OutgoingHttpHeaders {
  const said = sealedHeaders(tag);
  if (!forVisitor) said[headers.encParams] = toBase64(file.enc_params);
  said[headers.chunkCount] = String(file.chunk_count);
  return said;
}

/** An open volume, with the file whose headers travel with it; a thumbnail has none. */
export interface Sendable {
  file?: ReadableFile;
  sha256: string;
  volume: OpenVolume;
  forVisitor?: boolean;
}

/** Sends one volume, or the part of it that was asked for, straight from the store to the socket; says how much it was. */
export async function sendVolume(
  request: FastifyRequest,
  reply: FastifyReply,
  found: Sendable,
  pace: (to: Writable) => { writable: Writable; end: () => void },
  onFault: (error: unknown) => void,
): Promise<number> {
  const { file, sha256, volume } = found;
  const tag = tagOf(sha256);
  const common = {
    ...(reply.getHeaders() as OutgoingHttpHeaders),
    ...(file ? volumeHeaders(file, tag, found.forVisitor) : sealedHeaders(tag)),
    'accept-ranges': 'bytes',
  };
  try {
    if (matchesTag(request.headers['if-none-match'], tag)) {
      reply.hijack();
      reply.raw.writeHead(304, common).end();
      return 0;
    }
    const condition = request.headers['if-range'];
    const applies = request.method === 'GET' && (condition === undefined || condition === tag);
    const wanted = applies ? request.headers.range : undefined;
    const range = parseRange(wanted, volume.size);
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
      if (!(await hasTurn(response))) return 0;
      const socket = response.socket!;
      const paced = pace(socket);
      try {
        response.flushHeaders();
        // Not through the response, which holds each piece back for a tick and keeps lists of them.
        await volume.send(paced.writable, start, end);
      } catch (error) {
        // The length is announced already: a broken connection is the only way left to say that bytes are missing.
        request.log.warn({ err: error }, 'volume was not sent completely');
        // Not where it was the client who went away.
        if (!socket.destroyed) onFault(error);
        response.destroy();
        return 0;
      } finally {
        paced.end();
      }
    }
    response.end();
    return request.method === 'HEAD' ? 0 : end - start;
  } finally {
    await volume.close();
  }
}

/**
 * A request that came behind another one on its connection is answered after that one. What is written before never
 * ends when the client goes away meanwhile, so nothing is. False: it went away.
 */
async function hasTurn(response: ServerResponse): Promise<boolean> {
  const connection = response.req.socket;
  while (!response.socket && !connection.destroyed) {
    await new Promise<void>((resolve) => {
      const go = () => {
        response.off('socket', go);
        connection.off('close', go);
        resolve();
      };
      response.once('socket', go);
      connection.once('close', go);
    });
  }
  return !connection.destroyed;
}

/** Whether one of the tags in an If-None-Match header is this one, compared weakly. */
export function matchesTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  return header.trim() === '*' || header.split(',').some((part) => part.trim().replace(/^W\//, '') === tag);
}
