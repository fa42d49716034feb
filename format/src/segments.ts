/** Where the segments of a volume lie, and what makes each one the only one that fits its place. */
import type { Bytes } from './bytes.ts';

export const SALT_BYTES = 24;
const COMMITMENT_BYTES = 32;
/** Before the first segment. @public */
export const HEAD_BYTES = SALT_BYTES + COMMITMENT_BYTES;
export const TAG_BYTES = 16;
/**
 * Bytes of plaintext in a segment. A browser gives Web Crypto's results the same memory again and again up to half a MiB;
 * beyond it every call waits for new memory, which takes six times as long as the cipher. Node does not care. @public
 */
export const SEGMENT_SIZE = 256 * 1024;
const STRIDE = SEGMENT_SIZE + TAG_BYTES;

/** An empty segment exists only in an empty file, whose one volume has nothing else. */
export function segmentsIn(length: number): number {
  return Math.max(1, Math.ceil(length / SEGMENT_SIZE));
}

/** Bytes at rest of a volume with `length` bytes of plaintext. @public */
export function sealedSize(length: number): number {
  return HEAD_BYTES + length + segmentsIn(length) * TAG_BYTES;
}

/** How much plaintext a sealed volume of this size has; undefined where none has this size. */
export function plainLength(size: number): number | undefined {
  const length = size - HEAD_BYTES - Math.ceil((size - HEAD_BYTES) / STRIDE) * TAG_BYTES;
  return length >= 0 && sealedSize(length) === size ? length : undefined;
}

/** Segment `j` (from 0) of a volume with `length` bytes of plaintext: its plaintext, and where it lies sealed. */
export function segmentOf(
  length: number,
  j: number,
): { from: number; to: number; offset: number; size: number } {
  const from = j * SEGMENT_SIZE;
  const to = Math.min(from + SEGMENT_SIZE, length);
  return { from, to, offset: HEAD_BYTES + j * STRIDE, size: to - from + TAG_BYTES };
}

/** 1 ends the file, 2 ends a volume that others follow. */
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
