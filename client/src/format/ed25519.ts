/** Signatures (RFC 8032). Web Crypto everywhere: it has Ed25519, and what is signed is short and seldom. */
import { type Bytes, concat, fromBase64Url } from './bytes.ts';
import { requireKey } from './engine.ts';

export const SIGNATURE_BYTES = 64;
/** PKCS #8 around a secret key, which Web Crypto imports in no shorter form (RFC 8410). */
const PKCS8 = Uint8Array.fromHex('302e020100300506032b657004220420');

const { subtle } = globalThis.crypto;

async function importSecret(secret: Bytes, extractable: boolean): Promise<CryptoKey> {
  const pkcs8 = concat(PKCS8, requireKey(secret));
  try {
    return await subtle.importKey('pkcs8', pkcs8, 'Ed25519', extractable, ['sign']);
  } finally {
    pkcs8.fill(0);
  }
}

/** The public half of a secret key, which is any 32 random bytes. Web Crypto tells it in an export only. @public */
export async function ed25519PublicKey(secret: Bytes): Promise<Bytes> {
  const { x } = await subtle.exportKey('jwk', await importSecret(secret, true));
  return fromBase64Url(x!);
}

/** @public */
export async function ed25519Sign(secret: Bytes, data: Bytes): Promise<Bytes> {
  return new Uint8Array(await subtle.sign('Ed25519', await importSecret(secret, false), data));
}

/** @public */
export async function ed25519Verify(publicKey: Bytes, signature: Bytes, data: Bytes): Promise<boolean> {
  let key: CryptoKey;
  try {
    key = await subtle.importKey('raw', publicKey, 'Ed25519', false, ['verify']);
  } catch {
    // Some engines see here already that it is no point of the curve.
    return false;
  }
  return subtle.verify('Ed25519', key, signature, data);
}
