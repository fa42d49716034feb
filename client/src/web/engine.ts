import { type Bytes, concat } from '../format/bytes.ts';
import type { Engine, KdfParams } from '../format/engine.ts';
import { DEFAULT_BUDGET } from '../upload/budget.ts';

const NONCE = new Uint8Array(12);

export type Argon2id = (secret: Bytes, salt: Bytes, params: KdfParams) => Promise<Bytes>;

/** Argon2id in WebAssembly, loaded when it is first needed. @public */
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

/** The format's primitives on Web Crypto: browsers, and everything else that has it. @public */
export function webEngine(options: { argon2id?: Argon2id; parallel?: number } = {}): Engine {
  const { subtle } = globalThis.crypto;
  const aes = (key: Bytes, name: 'AES-GCM' | 'AES-CTR') =>
    subtle.importKey('raw', key, name, false, ['encrypt', 'decrypt']);
  const gcm = (aad: Bytes) => ({ name: 'AES-GCM', iv: NONCE, additionalData: aad, tagLength: 128 });
  const sha256 = async (data: Uint8Array) => new Uint8Array(await subtle.digest('SHA-256', data as Bytes));
  const release = () => {};

  async function gcmSeal(key: Bytes, aad: Bytes, data: Bytes): Promise<Bytes> {
    return new Uint8Array(await subtle.encrypt(gcm(aad), await aes(key, 'AES-GCM'), data));
  }

  async function gcmOpen(key: Bytes, aad: Bytes, data: Bytes): Promise<Bytes | undefined> {
    if (data.length < 16) return undefined;
    try {
      return new Uint8Array(await subtle.decrypt(gcm(aad), await aes(key, 'AES-GCM'), data));
    } catch (error) {
      if ((error as Error).name === 'OperationError') return undefined;
      throw error;
    }
  }

  return {
    parallel: options.parallel ?? 4,
    memoryBudget: DEFAULT_BUDGET,
    sha256,
    gcmSeal,
    gcmOpen,
    argon2id: options.argon2id ?? wasmArgon2id,
    hold: (key) => key,

    random: (length) => globalThis.crypto.getRandomValues(new Uint8Array(length)),

    async hmac(key, data) {
      const hash = { name: 'HMAC', hash: 'SHA-256' };
      return new Uint8Array(
        await subtle.sign('HMAC', await subtle.importKey('raw', key, hash, false, ['sign']), data),
      );
    },

    async hkdf(key, salt, info, length) {
      const base = await subtle.importKey('raw', key, 'HKDF', false, ['deriveBits']);
      const params = { name: 'HKDF', hash: 'SHA-256', salt, info };
      return new Uint8Array(await subtle.deriveBits(params, base, length * 8));
    },

    async ctr(key, counter, data) {
      const params = { name: 'AES-CTR', counter, length: 128 };
      return new Uint8Array(await subtle.encrypt(params, await aes(key, 'AES-CTR'), data));
    },

    async sealVolume({ key, aad }, source, { offset, length }, withPlain) {
      const plain = (await source.read(offset, length)) as Bytes;
      const plainDigest = withPlain ? await sha256(plain) : undefined;
      const bytes = await gcmSeal(key, aad, plain);
      return { bytes, digest: await sha256(bytes), plainDigest, release };
    },

    async openVolume({ key, aad }, sealed) {
      const own = sealed.buffer instanceof ArrayBuffer ? (sealed as Bytes) : concat(sealed);
      const [bytes, digest] = await Promise.all([gcmOpen(key, aad, own), sha256(own)]);
      return bytes && { bytes, digest, release };
    },

    borrow: (length) => ({ bytes: new Uint8Array(length), release }),
  };
}
