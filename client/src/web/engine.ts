import {
  type Bytes,
  concat,
  type Engine,
  type Hasher,
  type KdfParams,
  requireKey,
  sealedSize,
  TAG_BYTES,
} from '@szafa/format';
import { type Discard, openInPlace, sealInto, unlessChanged } from './segments.ts';

const NONCE = new Uint8Array(12);

export type Argon2id = (secret: Bytes, salt: Bytes, params: KdfParams) => Promise<Bytes>;

/** Argon2id in WebAssembly, loaded on first use. @public */
export async function wasmArgon2id(secret: Bytes, salt: Bytes, params: KdfParams): Promise<Bytes> {
  const { argon2id } = await import('hash-wasm');
  const hash = await argon2id({
    password: secret,
    salt,
    memorySize: params.m,
    iterations: params.t,
    parallelism: params.p,
    hashLength: 32,
    outputType: 'binary',
  });
  return hash as Bytes;
}

/** Hashes in WebAssembly: Web Crypto can only hash data that is completely in memory. */
async function wasmHasher(): Promise<Hasher> {
  const { createSHA256 } = await import('hash-wasm');
  const hashing = (await createSHA256()).init();
  return { update: (data) => void hashing.update(data), digest: () => hashing.digest('binary') as Bytes };
}

export interface WebEngineOptions {
  argon2id?: Argon2id;
  parallel?: number;
  discard?: Discard;
}

/** Creates an engine that uses Web Crypto, for browsers and other runtimes. @public */
export function webEngine(options: WebEngineOptions = {}): Engine {
  const { subtle } = globalThis.crypto;
  const aes = (key: Bytes, name: 'AES-GCM' | 'AES-CTR') =>
    subtle.importKey('raw', requireKey(key), name, false, ['encrypt', 'decrypt']);
  const macKeyOf = (key: Bytes) =>
    subtle.importKey('raw', requireKey(key), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const gcm = (aad: Bytes, iv: Bytes) => ({ name: 'AES-GCM', iv, additionalData: aad });
  const sha256 = async (data: Uint8Array) => new Uint8Array(await subtle.digest('SHA-256', data as Bytes));
  const release = () => {};

  return {
    parallel: options.parallel ?? 4,
    sha256,
    hasher: wasmHasher,
    argon2id: options.argon2id ?? wasmArgon2id,
    hold: (key) => key,

    random: (length) => globalThis.crypto.getRandomValues(new Uint8Array(length)),

    hmac: async (key, data) => new Uint8Array(await subtle.sign('HMAC', await macKeyOf(key), data)),

    async hkdf(key, salt, info, length) {
      const base = await subtle.importKey('raw', requireKey(key), 'HKDF', false, ['deriveBits']);
      const params = { name: 'HKDF', hash: 'SHA-256', salt, info };
      return new Uint8Array(await subtle.deriveBits(params, base, length * 8));
    },

    async nameCipher(mac, cipher) {
      const [macKey, cipherKey] = await Promise.all([macKeyOf(mac), aes(cipher, 'AES-CTR')]);
      return {
        mac: async (data) => new Uint8Array(await subtle.sign('HMAC', macKey, data)),
        async ctr(counter, data) {
          const params = { name: 'AES-CTR', counter, length: 128 };
          return new Uint8Array(await subtle.encrypt(params, cipherKey, data));
        },
      };
    },

    async gcmSeal(key, aad, data, nonce = NONCE) {
      return new Uint8Array(await subtle.encrypt(gcm(aad, nonce), await aes(key, 'AES-GCM'), data));
    },

    async gcmOpen(key, aad, data, nonce = NONCE) {
      if (data.length < TAG_BYTES) return undefined;
      return unlessChanged(subtle.decrypt(gcm(aad, nonce), await aes(key, 'AES-GCM'), data));
    },

    async sealSegments(key, source, { offset, length }) {
      const plain = (await source.read(offset, length)) as Bytes;
      const bytes = new Uint8Array(sealedSize(length));
      await sealInto(key, plain, bytes, options.discard);
      return { bytes, digest: await sha256(bytes), release };
    },

    async openSegments(key, sealed) {
      const own = sealed.buffer instanceof ArrayBuffer ? (sealed as Bytes) : concat(sealed);
      const digest = await sha256(own);
      const bytes = await openInPlace(key, own, options.discard);
      return bytes && { bytes, digest, release };
    },

    borrow: (length) => ({ bytes: new Uint8Array(length), release }),
  };
}
