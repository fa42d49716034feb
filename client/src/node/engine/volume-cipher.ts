import { createCipheriv, createDecipheriv, createHash } from 'node:crypto';
import { readSync } from 'node:fs';
import type { VolumeKey } from '@szafa/format';
// Each worker thread loads this file: importing the whole format would make its start slower.
import { lastOf, nonceOf, plainLength, segmentOf, segmentsIn, TAG_BYTES } from '@szafa/format/segments';

/** A piece is read, sealed and hashed while it is in the processor's cache. */
const PIECE = 64 * 1024;

/** Of the sealed volume. */
export interface Digests {
  digest: Uint8Array<ArrayBuffer>;
}

/** Where the plaintext of a volume comes from. */
export type PlainInput = Uint8Array | { fd: number; offset: number; length: number };

/** For plaintext on its way; `memory` gets ciphertext only, since it may be read by whoever had it before. */
const scratch = new Uint8Array(PIECE);

/**
 * Frees memory that is a view's own, at once. Ciphers give every piece in new memory; before the engine looked for garbage it would be
 * 64 MB in every thread, and none of it in the processor's cache.
 */
export function discard({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

/** Seals into `memory`, if there is any: head and segments. Undefined when the file is shorter than it was. */
export function sealInto(
  { head, key, aad, isLast }: VolumeKey,
  input: PlainInput,
  memory: Uint8Array | undefined,
): Digests | undefined {
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
  return { digest: new Uint8Array(hash.digest()) };
}

/** False when the file is shorter than it was. */
function fill(fd: number, piece: Uint8Array, position: number): boolean {
  for (let at = 0; at < piece.length; ) {
    const read = readSync(fd, piece, at, piece.length - at, position + at);
    if (read === 0) return false;
    at += read;
  }
  return true;
}

/**
 * Opens `memory`, a whole volume, in place: the plaintext moves together at its beginning. Nothing, and no plaintext,
 * when a tag does not fit.
 */
export function openInPlace({ head, key, aad, isLast }: VolumeKey, memory: Uint8Array): Digests | undefined {
  const length = plainLength(memory.length);
  if (length === undefined) return undefined;
  // Not from memory that others may write: this head is the one that was compared.
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
      memory.fill(0); // nothing unverified stays behind; the caller reports the volume
      return undefined;
    }
    hash.update(tag);
  }
  return { digest: new Uint8Array(hash.digest()) };
}
