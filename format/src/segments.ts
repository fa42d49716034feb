/** The segments of a volume: their offsets and nonces. */
import type { Bytes } from './bytes.ts';

export const SALT_BYTES = 24;
const COMMITMENT_BYTES = 32;
/** Bytes before the first segment. @public */
export const HEAD_BYTES = SALT_BYTES + COMMITMENT_BYTES;
export const TAG_BYTES = 16;
/**
 * Bytes of plaintext in a segment. Browsers reuse memory for Web Crypto results up to half a MiB. Longer results wait for new memory,
 * which takes six times as long as the cipher. @public
 */
export const SEGMENT_SIZE = 256 * 1024;
const STRIDE = SEGMENT_SIZE + TAG_BYTES;

/** Returns the number of segments: at least one, since an empty file has one empty segment. */
export const segmentsIn = (length: number): number => Math.max(1, Math.ceil(length / SEGMENT_SIZE));

/** Returns the size of a sealed volume with `length` bytes of plaintext. @public */
export const sealedSize = (length: number): number => HEAD_BYTES + length + segmentsIn(length) * TAG_BYTES;

/** Returns the length of the plaintext in a sealed volume; undefined if no volume has this size. */
export function plainLength(size: number): number | undefined {
  const length = size - HEAD_BYTES - Math.ceil((size - HEAD_BYTES) / STRIDE) * TAG_BYTES;
  return length >= 0 && sealedSize(length) === size ? length : undefined;
}

/** Returns the range of segment `j` (from 0) in the plaintext, and its offset and size in the sealed volume. */
export function segmentOf(
  length: number,
  j: number,
): { from: number; to: number; offset: number; size: number } {
  const from = j * SEGMENT_SIZE;
  const to = Math.min(from + SEGMENT_SIZE, length);
  return { from, to, offset: HEAD_BYTES + j * STRIDE, size: to - from + TAG_BYTES };
}

/** Returns the last byte of a nonce: 1 for the last segment of the file, 2 for the last segment of another volume, otherwise 0. */
export function lastOf(length: number, j: number, isLastVolume: boolean): 0 | 1 | 2 {
  if (j < segmentsIn(length) - 1) return 0;
  return isLastVolume ? 1 : 2;
}

export function nonceOf(j: number, last: 0 | 1 | 2): Bytes {
  const nonce = new Uint8Array(12);
  new DataView(nonce.buffer).setUint32(0, j);
  nonce[11] = last;
  return nonce;
}
