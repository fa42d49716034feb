/**
 * HPKE (RFC 9180) with DHKEM(X25519, HKDF-SHA256), HKDF-SHA256 and AES-256-GCM, one message for each encapsulation. Base mode, or PSK
 * mode if both ends share a secret. Uses Web Crypto in Node too: the messages are short.
 */
import { type Bytes, concat, utf8 } from './bytes.ts';
import { EMPTY, type Engine, requireKey } from './engine.ts';
import { TamperedError } from './errors.ts';

/** Length of secret, public and shared X25519 keys. */
const KEY = 32;
const HASH = 32;
const NONCE = 12;
const TAG = 16;
const VERSION = utf8('HPKE-v1');
const KEM = utf8('KEM\0\x20');
/** The PKCS #8 prefix of a secret key, in the shortest form that Web Crypto imports (RFC 8410). */
const PKCS8 = Uint8Array.fromHex('302e020100300506032b656e04220420');
const BASE_POINT: Bytes = new Uint8Array(KEY);
BASE_POINT[0] = 9;

/** An AEAD: its number in the RFC, and the length of its key. */
export interface Aead {
  id: number;
  key: number;
}
const AES_256_GCM: Aead = { id: 2, key: 32 };

/** A secret of at least 32 bytes that both ends know, and its id, which must not be empty. @public */
export interface Psk {
  secret: Bytes;
  id: Bytes;
}

/** Values that must be equal on both ends. @public */
export interface HpkeContext {
  /** The purpose of the message, bound into the keys. */
  info: Bytes;
  /** Bound to the message; empty by default. */
  aad?: Bytes;
  /** Selects PSK mode. */
  psk?: Psk | undefined;
  /** AES-256-GCM by default; the vectors of the RFC use another. */
  aead?: Aead;
}

/** Extra bytes of a sealed message: encapsulated key and tag. @public */
export const HPKE_OVERHEAD = KEY + TAG;

const { subtle } = globalThis.crypto;
const u16 = (value: number) => Uint8Array.of(value >> 8, value & 255);

async function hmac(key: Bytes, data: Bytes): Promise<Bytes> {
  const imported = await subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return new Uint8Array(await subtle.sign('HMAC', imported, data));
}

/** Replaces an empty salt with zeros: HMAC treats both alike, and Web Crypto rejects an empty key. */
function extract(suite: Bytes, salt: Bytes, label: string, secret: Bytes): Promise<Bytes> {
  return hmac(salt.length > 0 ? salt : new Uint8Array(HASH), concat(VERSION, suite, utf8(label), secret));
}

/** Returns at most 32 bytes (one hash), which is all that this suite needs. */
async function expand(suite: Bytes, key: Bytes, label: string, info: Bytes, length: number): Promise<Bytes> {
  const data = concat(u16(length), VERSION, suite, utf8(label), info, Uint8Array.of(1));
  return (await hmac(key, data)).slice(0, length);
}

/** Returns undefined if Web Crypto refuses the input bytes. */
async function unlessRefused(result: Promise<ArrayBuffer>): Promise<Bytes | undefined> {
  try {
    return new Uint8Array(await result);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'OperationError') return undefined;
    throw error;
  }
}

/** X25519. Returns undefined for a public key of small order, which gives every secret the same result. */
async function agree(secret: Bytes, publicKey: Bytes): Promise<Bytes | undefined> {
  if (publicKey.length !== KEY) return undefined;
  const pkcs8 = concat(PKCS8, requireKey(secret));
  const [own, other] = await Promise.all([
    subtle.importKey('pkcs8', pkcs8, 'X25519', false, ['deriveBits']),
    subtle.importKey('raw', publicKey, 'X25519', false, []),
  ]);
  pkcs8.fill(0);
  return unlessRefused(subtle.deriveBits({ name: 'X25519', public: other }, own, KEY * 8));
}

/** Computes the public half of a secret key, which is any 32 random bytes. @public */
export async function x25519PublicKey(secret: Bytes): Promise<Bytes> {
  return (await agree(secret, BASE_POINT))!;
}

/** Derives key and nonce of the message (KeySchedule of the RFC). */
async function schedule(
  shared: Bytes,
  enc: Bytes,
  recipient: Bytes,
  { info, psk, aead = AES_256_GCM }: HpkeContext,
): Promise<{ key: CryptoKey; nonce: Bytes }> {
  if (psk && (psk.secret.length < HASH || psk.id.length === 0)) throw new RangeError('the PSK is too short');
  const kemSecret = await extract(KEM, EMPTY, 'eae_prk', shared);
  const agreed = await expand(KEM, kemSecret, 'shared_secret', concat(enc, recipient), HASH);
  const suite = concat(utf8('HPKE'), u16(0x20), u16(1), u16(aead.id));
  const context = concat(
    Uint8Array.of(psk ? 1 : 0),
    await extract(suite, EMPTY, 'psk_id_hash', psk ? psk.id : EMPTY),
    await extract(suite, EMPTY, 'info_hash', info),
  );
  const secret = await extract(suite, agreed, 'secret', psk ? requireKey(psk.secret) : EMPTY);
  const key = await expand(suite, secret, 'key', context, aead.key);
  const nonce = await expand(suite, secret, 'base_nonce', context, NONCE);
  const imported = await subtle.importKey('raw', key, 'AES-GCM', false, ['encrypt', 'decrypt']);
  for (const bytes of [shared, kemSecret, agreed, secret, key]) bytes.fill(0);
  return { key: imported, nonce };
}

/**
 * Seals a message for the owner of a public key. Draws one random secret of 32 bytes.
 * @returns encapsulated key ‖ ciphertext
 * @throws TamperedError at stage `public-key` for a key of small order @public
 */
export async function hpkeSeal(
  engine: Pick<Engine, 'random'>,
  recipient: Bytes,
  context: HpkeContext,
  plain: Bytes,
): Promise<Bytes> {
  const secret = engine.random(KEY);
  const enc = await x25519PublicKey(secret);
  const shared = await agree(secret, recipient);
  secret.fill(0);
  if (!shared) throw new TamperedError('public-key', 'the public key is invalid');
  const { key, nonce } = await schedule(shared, enc, recipient, context);
  const aes = { name: 'AES-GCM', iv: nonce, additionalData: context.aad ?? EMPTY };
  return concat(enc, new Uint8Array(await subtle.encrypt(aes, key, plain)));
}

/** Opens a message. Returns undefined for a wrong key or context, and for changed bytes. @public */
export async function hpkeOpen(
  secret: Bytes,
  context: HpkeContext,
  sealed: Bytes,
): Promise<Bytes | undefined> {
  if (sealed.length < HPKE_OVERHEAD) return undefined;
  const enc = sealed.slice(0, KEY);
  const shared = await agree(secret, enc);
  if (!shared) return undefined;
  const { key, nonce } = await schedule(shared, enc, await x25519PublicKey(secret), context);
  const aes = { name: 'AES-GCM', iv: nonce, additionalData: context.aad ?? EMPTY };
  return unlessRefused(subtle.decrypt(aes, key, sealed.slice(KEY)));
}
