import {
  argon2,
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hash,
  hkdfSync,
  randomBytes,
  randomFillSync,
} from 'node:crypto';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import {
  type Bytes,
  concat,
  EMPTY,
  type Engine,
  plainLength,
  requireKey,
  sealedSize,
  TAG_BYTES,
} from '@szafa/format';
import { FileChangedError } from '../../errors.ts';
import { FileSource } from '../files/file-source.ts';
import { Arena } from './memory-pool.ts';
import { type Digests, openInPlace, sealInto } from './volume-cipher.ts';
import { Workers } from './workers.ts';

export interface NodeEngineOptions {
  threads?: number | undefined;
  /** The worker's script, for programs packed into one file. */
  worker?: URL | undefined;
}

/** An engine with threads, which `close` ends. @public */
export interface NodeEngine extends Engine {
  /** Ends the worker threads. */
  close(): Promise<void>;
}

const NONCE = new Uint8Array(12);
/** Below this a volume is done before a worker would have woken up. */
const INLINE = 256 * 1024;
const argon2Async = promisify(argon2);

/** What Node's crypto returns has memory of its own; the same, as the plain type that travels. */
function plain({ buffer, byteOffset, length }: Buffer<ArrayBuffer>): Bytes {
  return new Uint8Array(buffer, byteOffset, length);
}

function unlessShorter(digests: Digests | undefined): Digests {
  if (!digests) throw new FileChangedError('the file became shorter while it was being uploaded');
  return digests;
}

const pool = new Uint8Array(4096);
let drawn = pool.length;

/** Drawn in stock: a small file needs half a dozen of them, and each call of the system's costs more than all bytes. */
function random(length: number): Bytes {
  if (length > pool.length) return plain(randomBytes(length));
  if (drawn + length > pool.length) {
    randomFillSync(pool);
    drawn = 0;
  }
  const bytes = pool.slice(drawn, drawn + length);
  pool.fill(0, drawn, drawn + length);
  drawn += length;
  return bytes;
}

const hkdf = (key: Bytes, salt: Bytes, info: Bytes, length: number): Bytes =>
  new Uint8Array(hkdfSync('sha256', requireKey(key), salt, info, length));

/** The format's primitives on Node's own crypto, with volumes in worker threads over shared memory. @public */
export function nodeEngine(options: NodeEngineOptions = {}): NodeEngine {
  const threads = options.threads ?? Math.min(8, availableParallelism());
  const workers = new Workers(options.worker ?? new URL('./worker.ts', import.meta.url), threads);
  const arena = new Arena();
  const nothing = () => {};
  const nowhere = { bytes: EMPTY, release: nothing };
  const borrow = (length: number) =>
    length <= INLINE ? { bytes: new Uint8Array(length), release: nothing } : arena.lend(length);

  const engine: NodeEngine = {
    parallel: threads,
    close: () => workers.close(),
    random,
    hold: (key) => key,
    sha256: (data) => plain(hash('sha256', data, 'buffer')),
    hasher() {
      const hashing = createHash('sha256');
      return { update: (data) => void hashing.update(data), digest: () => plain(hashing.digest()) };
    },
    hmac: (key, data) => plain(createHmac('sha256', requireKey(key)).update(data).digest()),
    hkdf,

    gcmSeal(key, aad, data, nonce = NONCE) {
      const cipher = createCipheriv('aes-256-gcm', requireKey(key), nonce);
      cipher.setAAD(aad);
      return concat(cipher.update(data), cipher.final(), cipher.getAuthTag());
    },

    gcmOpen(key, aad, data, nonce = NONCE) {
      const end = data.length - TAG_BYTES;
      if (end < 0) return undefined;
      const decipher = createDecipheriv('aes-256-gcm', requireKey(key), nonce);
      decipher.setAAD(aad).setAuthTag(data.subarray(end));
      const opened = plain(decipher.update(data.subarray(0, end)));
      try {
        decipher.final(); // a stream: it only compares the tag
        return opened;
      } catch {
        opened.fill(0);
        return undefined;
      }
    },

    nameCipher(mac, key) {
      const [macKey, cipherKey] = [mac, key].map((bytes) => createSecretKey(requireKey(bytes)));
      return {
        mac: (data) => plain(createHmac('sha256', macKey!).update(data).digest()),
        ctr(counter, data) {
          // A stream: nothing is left for the end.
          return plain(createCipheriv('aes-256-ctr', cipherKey!, counter).update(data));
        },
      };
    },

    async argon2id(secret, salt, { m, t, p }) {
      const parameters = {
        message: secret,
        nonce: salt,
        parallelism: p,
        tagLength: 32,
        memory: m,
        passes: t,
      };
      return plain(await argon2Async('argon2id', parameters));
    },

    async sealSegments(key, source, { offset, length }, digestOnly = false) {
      const input =
        source instanceof FileSource ? { fd: source.fd, offset, length } : await source.read(offset, length);
      const { bytes, release } = digestOnly ? nowhere : borrow(sealedSize(length));
      const memory = digestOnly ? undefined : bytes;
      try {
        const digests =
          length <= INLINE
            ? sealInto(key, input, memory)
            : await workers.run({ kind: 'seal', key, input, memory });
        return { bytes, ...unlessShorter(digests), release };
      } catch (error) {
        release();
        throw error;
      }
    },

    async openSegments(key, sealed) {
      const length = plainLength(sealed.length);
      if (length === undefined) return undefined;
      const shared = sealed.buffer instanceof SharedArrayBuffer;
      if (length <= INLINE && !shared) {
        const digests = openInPlace(key, sealed);
        return digests && { bytes: sealed.subarray(0, length), ...digests, release: nothing };
      }
      const { bytes: memory, release } = shared
        ? { bytes: sealed, release: nothing }
        : arena.lend(sealed.length);
      try {
        if (!shared) memory.set(sealed);
        const digests = await workers.run({ kind: 'open', key, memory });
        if (!digests) release();
        // Never a Buffer, as transports give them: a slice of one is no copy.
        const bytes = new Uint8Array(memory.buffer, memory.byteOffset, length);
        return digests && { bytes, ...digests, release };
      } catch (error) {
        release();
        throw error;
      }
    },

    borrow,
  };
  return engine;
}
