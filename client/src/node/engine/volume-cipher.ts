import { createCipheriv, createDecipheriv, createHash } from 'node:crypto';
import { readSync } from 'node:fs';
import type { Bytes, VolumeKey } from '@szafa/format';
// Every worker thread loads this file, and importing the whole format would slow its start.
import { lastOf, nonceOf, plainLength, segmentOf, segmentsIn, TAG_BYTES } from '@szafa/format/segments';

/** Small enough to stay in the processor's cache while it is read, sealed and hashed. */
const PIECE = 64 * 1024;

/** The plaintext of a volume, in memory or in a file. */
export type PlainInput = Uint8Array | { fd: number; offset: number; length: number };

/** Buffer for plaintext. Never read plaintext into the shared `memory`, which earlier borrowers may still be reading. */
const scratch = new Uint8Array(PIECE);

/**
 * Frees the memory of a view at once, unless it is part of a larger buffer. Ciphers return every piece in new memory. Until the next
 * garbage collection that would be up to 64 MB per thread, none of it in the processor's cache.
 */
export function discard({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

/**
 * Seals head and segments. Writes them to `memory` if given.
 * @returns the digest of the sealed volume; undefined if the file has become shorter
 */
export function sealInto(
  { head, key, aad, isLast }: VolumeKey,
  input: PlainInput,
  memory: Uint8Array | undefined,
): Bytes | undefined {
  const hash = createHash('sha256').update(head);
  const { length } = input;
  memory?.set(head);
  for (let j = 0; j < segmentsIn(length); j++) {
    const { from, to, offset } = segmentOf(length, j);
    const cipher = createCipheriv('aes-256-gcm', key, nonceOf(j, lastOf(length, j, isLast)));
    cipher.setAAD(aad);
    for (let at = from; at < to; at += PIECE) {
      const end = Math.min(at + PIECE, to);
      const piece = 'fd' in input ? scratch.subarray(0, end - at) : input.subarray(at, end);
      if ('fd' in input && !fill(input.fd, piece, input.offset + at)) return undefined;
      const sealed = cipher.update(piece);
      hash.update(sealed);
      memory?.set(sealed, offset + at - from);
      discard(sealed);
    }
    cipher.final();
    const tag = cipher.getAuthTag();
    hash.update(tag);
    memory?.set(tag, offset + to - from);
  }
  return new Uint8Array(hash.digest());
}

/** Returns false if the file has become shorter. */
function fill(fd: number, piece: Uint8Array, position: number): boolean {
  for (let at = 0; at < piece.length; ) {
    const read = readSync(fd, piece, at, piece.length - at, position + at);
    if (read === 0) return false;
    at += read;
  }
  return true;
}

/**
 * Opens a whole volume in place: the plaintext moves to the beginning of `memory`.
 * @returns the digest of the sealed volume; undefined if a tag is wrong, and then `memory` is zeroed
 */
export function openInPlace({ head, key, aad, isLast }: VolumeKey, memory: Uint8Array): Bytes | undefined {
  const length = plainLength(memory.length);
  if (length === undefined) return undefined;
  // Hash the verified head: the one in shared memory may have been overwritten since.
  const hash = createHash('sha256').update(head);
  for (let j = 0; j < segmentsIn(length); j++) {
    const { from, to, offset, size } = segmentOf(length, j);
    const decipher = createDecipheriv('aes-256-gcm', key, nonceOf(j, lastOf(length, j, isLast)));
    decipher.setAAD(aad);
    const tag = memory.slice(offset + size - TAG_BYTES, offset + size);
    decipher.setAuthTag(tag);
    for (let at = from; at < to; at += PIECE) {
      const begin = offset + at - from;
      const piece = memory.subarray(begin, begin + Math.min(PIECE, to - at));
      hash.update(piece);
      const plain = decipher.update(piece);
      memory.set(plain, at);
      discard(plain);
    }
    try {
      decipher.final();
    } catch {
      memory.fill(0);
      return undefined;
    }
    hash.update(tag);
  }
  return new Uint8Array(hash.digest());
}
