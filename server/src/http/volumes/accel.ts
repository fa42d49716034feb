import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import { parseRange, type Range } from '@szafa/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../../config.ts';
import type { ReadableFile } from '../../metadata/files.ts';
import type { VolumePlace } from '../../volumes/store.ts';
import { tagOf, VOLUME_TYPE, volumeHeaders } from './reply.ts';

/** By this header nginx offers to send volumes itself, and says from which kind of store. It always sets or removes it. */
export const OFFER = 'x-szafa-accel';
/** nginx sends what is there in the place of our answer, and hides this header. */
export const REDIRECT = 'x-accel-redirect';
/** The range to ask a store for: nginx passes on no header of the client. */
const RANGE = 'x-szafa-range';

const CONDITIONS = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since', 'if-range'];
/** Such ranges nginx understands as we do. */
const PLAIN_RANGE = /^bytes=(?:\d{1,15}-\d{0,15}|-\d{1,15})$/;

/**
 * The kind of store that nginx offers to read, where it may be taken at its word: it is a trusted peer, and the request is
 * one that it answers as we would. Any other request is answered here.
 */
export function offeredStore(
  { method, raw }: FastifyRequest,
  { accel, trustProxy }: Pick<Config, 'accel' | 'trustProxy'>,
): string | undefined {
  if (!accel || method !== 'GET' || !trustProxy.contains(raw.socket.remoteAddress ?? '')) return undefined;
  return isPlain(raw.headers) ? [raw.headers[OFFER]].flat()[0] : undefined;
}

function isPlain(headers: IncomingHttpHeaders): boolean {
  if (CONDITIONS.some((name) => headers[name] !== undefined)) return false;
  return headers.range === undefined || PLAIN_RANGE.test(headers.range);
}

/**
 * Has nginx send the volume, or the part of it that was asked for; says how much that is. Undefined: this is to be
 * answered here. What nginx then cannot read, it asks for again, without the offer.
 */
export function handOver(
  request: FastifyRequest,
  reply: FastifyReply,
  { file, sha256, place }: { file: ReadableFile; sha256: string; place: VolumePlace },
): number | undefined {
  const wanted = request.headers.range;
  const range = parseRange(wanted, place.size);
  // Also one that we ignore, as 9-5.
  if (range === 'unsatisfiable' || (wanted !== undefined && !range)) return undefined;
  const { start, end } = range ?? { start: 0, end: place.size };
  reply.headers(redirectTo(place, range));
  // Without Fastify's way to send, which would be the largest part of what such a request costs.
  reply.hijack();
  reply.raw
    .writeHead(range ? 206 : 200, {
      ...(reply.getHeaders() as OutgoingHttpHeaders),
      ...volumeHeaders(file, tagOf(sha256)),
      'content-type': VOLUME_TYPE,
      'content-length': 0,
    })
    .end();
  return end - start;
}

function redirectTo({ kind, path }: VolumePlace, range: Range | undefined): OutgoingHttpHeaders {
  return {
    [REDIRECT]: `/szafa-${kind}/${path.replace(/^\//, '')}`,
    ...(range ? { [RANGE]: `bytes=${range.start}-${range.end - 1}` } : {}),
  };
}
