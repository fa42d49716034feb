import type { IncomingMessage } from 'node:http';
import { Transform } from 'node:stream';

/** A range of a volume, including both ends. */
export interface ByteRange {
  first: number;
  last: number;
}

/** The part of a response that is forwarded to the download tool. */
export interface FittingResponse {
  status: 200 | 206;
  headers: Record<string, string | number>;
  /** Required length of the body, whatever Content-Length says. */
  length: number;
}

/** A body is longer or shorter than required. */
export class WrongLengthError extends Error {
  override name = 'WrongLengthError';
}

/** Parses the only form of Range that the tool sends; null for any other, or for a range outside the volume. */
export function parseRange(header: string, size: number): ByteRange | null {
  const [, from, to] = /^bytes=(\d{1,16})-(\d{0,16})$/.exec(header) ?? [];
  if (from === undefined) return null;
  const first = Number(from);
  const last = to ? Math.min(Number(to), size - 1) : size - 1;
  return first <= last ? { first, last } : null;
}

/**
 * Compares a 200 or 206 with the declared size of the volume before its body is read. Undefined if length, range or total
 * differ, so that it cannot be this volume.
 */
export function checkResponse(
  response: IncomingMessage,
  asked: ByteRange | undefined,
  size: number,
): FittingResponse | undefined {
  const { headers } = response;
  const announced = headers['content-length'] === undefined ? undefined : Number(headers['content-length']);
  const kept: Record<string, string | number> = {};
  for (const name of ['accept-ranges', 'etag', 'last-modified']) {
    const value = headers[name];
    if (typeof value === 'string') kept[name] = value;
  }
  if (response.statusCode === 200) {
    if (announced === undefined) return { status: 200, headers: kept, length: size };
    return announced === size
      ? { status: 200, headers: { ...kept, 'content-length': size }, length: size }
      : undefined;
  }
  const [, first, last, total] = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(headers['content-range'] ?? '') ?? [];
  const length = Number(last) - Number(first) + 1;
  const fits =
    asked !== undefined &&
    Number(first) === asked.first &&
    Number(last) >= asked.first &&
    Number(last) <= asked.last &&
    (total === '*' || Number(total) === size) &&
    (announced === undefined || announced === length);
  if (!fits) return undefined;
  const range = `bytes ${first}-${last}/${size}`;
  return {
    status: 206,
    headers: { ...kept, 'content-range': range, 'content-length': length },
    length,
  };
}

/** Forwards exactly `length` bytes. Fails at the first surplus byte, or if the stream ends early. */
export function requireLength(length: number): Transform {
  let left = length;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      left -= chunk.length;
      if (left < 0) done(new WrongLengthError('more bytes than the volume has'));
      else done(null, chunk);
    },
    flush(done) {
      done(left > 0 ? new WrongLengthError('fewer bytes than the volume has') : null);
    },
  });
}
