/** Ed25519 signatures (RFC 8032). Uses Web Crypto in Node too: the messages are short and rare. */
import { type Bytes, concat } from './bytes.ts';
import { requireKey } from './engine.ts';
import { x25519PublicKey } from './hpke.ts';

export const SIGNATURE_BYTES = 64;
/** The PKCS #8 prefix of a secret key, in the shortest form that Web Crypto imports (RFC 8410). */
const PKCS8 = Uint8Array.fromHex('302e020100300506032b657004220420');

const { subtle } = globalThis.crypto;

async function importSecret(secret: Bytes): Promise<CryptoKey> {
  const pkcs8 = concat(PKCS8, requireKey(secret));
  try {
    return await subtle.importKey('pkcs8', pkcs8, 'Ed25519', false, ['sign']);
  } finally {
    pkcs8.fill(0);
  }
}

const P = 2n ** 255n - 19n;

function powerMod(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  for (let [square, rest] = [base % P, exponent]; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % P;
    square = (square * square) % P;
  }
  return result;
}

/** Maps a Montgomery point to its Edwards form, without the sign: y = (u - 1) / (u + 1) (RFC 7748, 4.1). */
function edwardsY(u: Bytes): Bytes {
  const number = BigInt(`0x${u.toReversed().toHex()}`);
  const y = ((number + P - 1n) * powerMod(number + 1n, P - 2n)) % P;
  return Uint8Array.fromHex(y.toString(16).padStart(64, '0')).toReversed();
}

/**
 * Computes the public half of a secret key, which is any 32 random bytes. Web Crypto only reveals the public half by exporting the key,
 * which Firefox refuses for keys imported without it. So this converts the X25519 public key of the same scalar, and tries both signs
 * until a signature verifies.
 * @throws DOMException `NotSupportedError` if Web Crypto has no Ed25519 @public
 */
export async function ed25519PublicKey(secret: Bytes): Promise<Bytes> {
  const hash = new Uint8Array(await subtle.digest('SHA-512', requireKey(secret)));
  const scalar = hash.slice(0, 32);
  const publicKey = edwardsY(await x25519PublicKey(scalar));
  hash.fill(0);
  scalar.fill(0);
  const signed = Uint8Array.of();
  const signature = await ed25519Sign(secret, signed);
  for (const sign of [0, 0x80]) {
    publicKey[31]! |= sign;
    if (await ed25519Verify(publicKey, signature, signed)) return publicKey;
  }
  // Contacts would pin the wrong key and reject every signature of this account.
  throw new DOMException('Web Crypto finds no public key for a signature of its own', 'NotSupportedError');
}

/** @public */
export async function ed25519Sign(secret: Bytes, data: Bytes): Promise<Bytes> {
  return new Uint8Array(await subtle.sign('Ed25519', await importSecret(secret), data));
}

/** @public */
export async function ed25519Verify(publicKey: Bytes, signature: Bytes, data: Bytes): Promise<boolean> {
  let key: CryptoKey;
  try {
    key = await subtle.importKey('raw', publicKey, 'Ed25519', false, ['verify']);
  } catch (error) {
    if ((error as Error).name === 'NotSupportedError') throw error;
    // Some browsers already reject here a key that is not a point on the curve.
    return false;
  }
  return subtle.verify('Ed25519', key, signature, data);
}
