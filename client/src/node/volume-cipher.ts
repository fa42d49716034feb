import { createCipheriv, createDecipheriv, createHash } from 'node:crypto';
import { readSync } from 'node:fs';
import type { VolumeKey } from '../format/engine.ts';

const NONCE = new Uint8Array(12);
const TAG = 16;
/** A piece is read, sealed and hashed while it is in the processor's cache. */
const PIECE = 64 * 1024;

export interface Digests {
  /** Of the ciphertext with its tag. */
  digest: Uint8Array<ArrayBuffer>;
  plainDigest?: Uint8Array<ArrayBuffer> | undefined;
}

/** Where the plaintext of a volume comes from. */
export type PlainInput = Uint8Array | { fd: number; offset: number; length: number };

/** For plaintext on its way; `memory` gets ciphertext only, since it may be read by whoever had it before. */
const scratch = new Uint8Array(PIECE);

/** Seals into `memory`, the tag behind the ciphertext. Undefined when the file is shorter than it was. */
export function sealInto(
  { key, aad }: VolumeKey,
  input: PlainInput,
  memory: Uint8Array,
  plainDigest = false,
): Digests | undefined {
  const cipher = createCipheriv('aes-256-gcm', key, NONCE);
  cipher.setAAD(aad);
  const hash = createHash('sha256');
  const plainHash = plainDigest ? createHash('sha256') : undefined;
  const { length } = input;
  for (let at = 0; at < length; at += PIECE) {
    const end = Math.min(at + PIECE, length);
    const piece = 'fd' in input ? scratch.subarray(0, end - at) : input.subarray(at, end);
    if ('fd' in input && !fill(input.fd, piece, input.offset + at)) return undefined;
    plainHash?.update(piece);
    const sealed = cipher.update(piece);
    hash.update(sealed);
    memory.set(sealed, at);
  }
  cipher.final();
  const tag = cipher.getAuthTag();
  memory.set(tag, length);
  return {
    digest: new Uint8Array(hash.update(tag).digest()),
    plainDigest: plainHash && new Uint8Array(plainHash.digest()),
  };
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

/** Opens `memory` in place; nothing, and no plaintext, when the tag does not fit. */
export function openInPlace({ key, aad }: VolumeKey, memory: Uint8Array): Digests | undefined {
  const length = memory.length - TAG;
  if (length < 0) return undefined;
  const decipher = createDecipheriv('aes-256-gcm', key, NONCE);
  decipher.setAAD(aad);
  // A copy: the tag must not be taken from memory that others may write.
  const tag = memory.slice(length);
  decipher.setAuthTag(tag);
  const hash = createHash('sha256');
  for (let at = 0; at < length; at += PIECE) {
    const piece = memory.subarray(at, Math.min(at + PIECE, length));
    hash.update(piece);
    piece.set(decipher.update(piece));
  }
  try {
    decipher.final();
  } catch {
    memory.fill(0); // nothing unverified stays behind; the caller reports the volume
    return undefined;
  }
  return { digest: new Uint8Array(hash.update(tag).digest()) };
}
