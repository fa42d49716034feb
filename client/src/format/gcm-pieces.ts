/**
 * AES-GCM of a long message, made piece by piece on Web Crypto, which itself knows only whole messages. A whole one costs
 * new memory for every copy of it that a browser makes; pieces below a megabyte are given the same memory again and again, so long as
 * those that are done with are given back.
 *
 * Each piece is a GCM message of its own, under a nonce from which the cipher derives just the counter that the piece has in
 * the whole: so the ciphertext is that of the whole. The tags of the pieces, freed of their masks, are sums of the
 * same polynomial in H that the tag of the whole is, and are added up to it. Neither nonces nor tags of pieces leave this file.
 */
import type { Bytes } from './bytes.ts';
import type { VolumeKey } from './engine.ts';

export const PIECE_BYTES = 256 * 1024;
const BLOCK = 16;
const TAG = 16;
/** What the last block under GHASH says about a nonce of 16 bytes. */
const NONCE_BITS = 128;

/** An element of GCM's field, as four words; the first bit is the coefficient of x^0. */
type Element = Uint32Array;
const ONE: Element = Uint32Array.of(0x80000000, 0, 0, 0);

function times(x: Element, y: Element): Element {
  let [v0, v1, v2, v3] = x as unknown as [number, number, number, number];
  let z0 = 0;
  let z1 = 0;
  let z2 = 0;
  let z3 = 0;
  for (const word of y) {
    for (let bit = 31; bit >= 0; bit--) {
      const taken = -((word >>> bit) & 1);
      z0 ^= v0 & taken;
      z1 ^= v1 & taken;
      z2 ^= v2 & taken;
      z3 ^= v3 & taken;
      const over = -(v3 & 1);
      v3 = (v3 >>> 1) | (v2 << 31);
      v2 = (v2 >>> 1) | (v1 << 31);
      v1 = (v1 >>> 1) | (v0 << 31);
      v0 = (v0 >>> 1) ^ (over & 0xe1000000);
    }
  }
  return Uint32Array.of(z0, z1, z2, z3);
}

function plus(...elements: Element[]): Element {
  return elements.reduce((sum, one) => sum.map((word, i) => word ^ one[i]!), new Uint32Array(4));
}

function power(base: Element, exponent: number): Element {
  let result = ONE;
  let square = base;
  for (let left = exponent; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) result = times(result, square);
    square = times(square, square);
  }
  return result;
}

/** x^(2^128 - 2) */
function inverse(x: Element): Element {
  let result = ONE;
  let square = x;
  for (let i = 1; i < 128; i++) {
    square = times(square, square);
    result = times(result, square);
  }
  return result;
}

function element(bytes: Uint8Array, at = 0): Element {
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, BLOCK);
  return Uint32Array.of(view.getUint32(0), view.getUint32(4), view.getUint32(8), view.getUint32(12));
}

function bytesOf(value: Element): Bytes {
  const bytes = new Uint8Array(BLOCK);
  const view = new DataView(bytes.buffer);
  value.forEach((word, i) => {
    view.setUint32(4 * i, word);
  });
  return bytes;
}

/** Two numbers of 64 bits. */
function pair(high: number, low: number): Element {
  const word = (n: number) => Math.floor(n / 2 ** 32);
  return Uint32Array.of(word(high), high, word(low), low);
}

/** GHASH before its last block, times H. */
function hashed(bytes: Uint8Array, h: Element): Element {
  const padded = new Uint8Array(Math.ceil(bytes.length / BLOCK) * BLOCK);
  padded.set(bytes);
  let sum: Element = new Uint32Array(4);
  for (let at = 0; at < padded.length; at += BLOCK) sum = times(plus(sum, element(padded, at)), h);
  return times(sum, h);
}

/**
 * Seals, under a nonce of twelve zero bytes, what is in `memory` before the space for the tag. `discard` gets the memory of
 * each piece that is done with. @public
 */
export async function sealInPlace(
  { key, aad }: VolumeKey,
  memory: Bytes,
  discard: (piece: ArrayBuffer) => void = () => {},
): Promise<void> {
  const { subtle } = globalThis.crypto;
  const gcm = await subtle.importKey('raw', key, 'AES-GCM', false, ['encrypt']);
  const ctr = await subtle.importKey('raw', key, 'AES-CTR', false, ['encrypt']);
  const counting = { name: 'AES-CTR', counter: new Uint8Array(BLOCK), length: 128 };
  // The cipher of the blocks 0 and 1: H, and what the tag is masked with.
  const first = new Uint8Array(await subtle.encrypt(counting, ctr, new Uint8Array(2 * BLOCK)));
  const h = element(first);
  const mask = element(first, BLOCK);
  const byH = inverse(h);
  const byH2 = times(byH, byH);
  const nonceLength = times(pair(0, NONCE_BITS), byH);
  const wholePiece = power(h, PIECE_BYTES / BLOCK);

  const end = memory.length - TAG;
  let sum = hashed(aad, h);
  let pieceMask = mask;
  for (let at = 0; at < end; at += PIECE_BYTES) {
    const piece = memory.subarray(at, Math.min(at + PIECE_BYTES, end));
    const { length } = piece;
    // GHASH of the nonce has to be the block before the piece's first counter.
    const nonce = bytesOf(plus(times(pair(0, 1 + at / BLOCK), byH2), nonceLength));
    const sealed = new Uint8Array(await subtle.encrypt({ name: 'AES-GCM', iv: nonce }, gcm, piece));
    const raise = length === PIECE_BYTES ? wholePiece : power(h, Math.ceil(length / BLOCK));
    const own = plus(element(sealed, length), pieceMask, times(pair(0, length * 8), h));
    sum = plus(times(sum, raise), own);
    // The next piece's mask is the key stream of this one's last block.
    if (length === PIECE_BYTES)
      pieceMask = plus(element(piece, length - BLOCK), element(sealed, length - BLOCK));
    piece.set(sealed.subarray(0, length));
    discard(sealed.buffer);
  }
  memory.set(bytesOf(plus(sum, times(pair(aad.length * 8, end * 8), h), mask)), end);
}
