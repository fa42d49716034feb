/**
 * HPKE (RFC 9180) in one suite, DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM, one message for each encapsulation: base
 * mode, and PSK mode where both ends know a secret. Web Crypto everywhere: it has X25519, and what is sealed so is short.
 */
import { type Bytes, concat, utf8 } from './bytes.ts';
import { EMPTY, type Engine, requireKey } from './engine.ts';
import { TamperedError } from './errors.ts';

/** Of X25519: secret, public and shared keys. */
const KEY = 32;
const HASH = 32;
const NONCE = 12;
const TAG = 16;
const VERSION = utf8('HPKE-v1');
const KEM = utf8('KEM\0\x20');
/** PKCS #8 around a secret key, which Web Crypto imports in no shorter form (RFC 8410). */
const PKCS8 = Uint8Array.fromHex('302e020100300506032b656e04220420');
const BASE_POINT: Bytes = new Uint8Array(KEY);
BASE_POINT[0] = 9;

/** Of AES-GCM: its number in the RFC, and the length of its key. */
export interface Aead {
  id: number;
  key: number;
}
const AES_256_GCM: Aead = { id: 2, key: 32 };

/** A secret that both ends know beside the keys, and its name, neither of them empty. @public */
export interface Psk {
  secret: Bytes;
  id: Bytes;
}

/** What both ends say alike, or it does not open. @public */
export interface HpkeContext {
  /** What it is for, bound into the keys. */
  info: Bytes;
  /** Bound to the message; nothing unless told. */
  aad?: Bytes;
  /** Given: PSK mode. */
  psk?: Psk | undefined;
  /** The suite's own unless told: the RFC has its vectors for another. */
  aead?: Aead;
}

/** How much longer a sealed message is: the encapsulated key before it, and the tag behind it. @public */
export const HPKE_OVERHEAD = KEY + TAG;

const { subtle } = globalThis.crypto;
const u16 = (value: number) => Uint8Array.of(value >> 8, value & 255);

async function hmac(key: Bytes, data: Bytes): Promise<Bytes> {
  const imported = await subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return new Uint8Array(await subtle.sign('HMAC', imported, data));
}

/** No salt is a salt of zeros, by HMAC's own rule; Web Crypto takes no empty key. */
function extract(suite: Bytes, salt: Bytes, label: string, secret: Bytes): Promise<Bytes> {
  return hmac(salt.length > 0 ? salt : new Uint8Array(HASH), concat(VERSION, suite, utf8(label), secret));
}

/** Up to one hash, which is all that this suite needs. */
async function expand(suite: Bytes, key: Bytes, label: string, info: Bytes, length: number): Promise<Bytes> {
  const data = concat(u16(length), VERSION, suite, utf8(label), info, Uint8Array.of(1));
  return (await hmac(key, data)).slice(0, length);
}

/** Undefined where Web Crypto finds that the bytes are not what they should be. */
async function unlessRefused(result: Promise<ArrayBuffer>): Promise<Bytes | undefined> {
  try {
    return new Uint8Array(await result);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'OperationError') return undefined;
    throw error;
  }
}

/** X25519. Undefined for a public key that gives every secret the same result. */
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

/** The public half of a secret key, which is any 32 random bytes. @public */
export async function x25519PublicKey(secret: Bytes): Promise<Bytes> {
  return (await agree(secret, BASE_POINT))!;
}

/** Key and nonce of the one message. */
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

/** Encapsulated key ‖ ciphertext, for whoever has the secret half of this key. Draws one random secret of 32 bytes. @public */
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
  if (!shared) throw new TamperedError('public-key', 'that is no public key to seal anything for');
  const { key, nonce } = await schedule(shared, enc, recipient, context);
  const aes = { name: 'AES-GCM', iv: nonce, additionalData: context.aad ?? EMPTY };
  return concat(enc, new Uint8Array(await subtle.encrypt(aes, key, plain)));
}

/** Undefined when it was not sealed for this key, in this context, or was changed. @public */
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
