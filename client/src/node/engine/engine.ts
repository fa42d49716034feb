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
import { MemoryPool } from './memory-pool.ts';
import { openInPlace, sealInto } from './volume-cipher.ts';
import { createWorkers } from './workers.ts';

export interface NodeEngineOptions {
  threads?: number | undefined;
  /** URL of the worker script, for programs bundled into one file. */
  worker?: URL | undefined;
}

/** @public */
export interface NodeEngine extends Engine {
  /** Stops the worker threads. */
  close(): Promise<void>;
}

const NONCE = new Uint8Array(12);
/** Up to this size, sealing a volume here is faster than waking a worker thread. */
const INLINE = 256 * 1024;
const argon2Async = promisify(argon2);

/** Returns a plain Uint8Array over the memory of a Buffer from Node's crypto, which is not pooled. */
function plain({ buffer, byteOffset, length }: Buffer<ArrayBuffer>): Bytes {
  return new Uint8Array(buffer, byteOffset, length);
}

const randomPool = new Uint8Array(4096);
let drawn = randomPool.length;

/** Draws from a pool: a small file needs half a dozen values, and one system call costs more than all their bytes. */
function random(length: number): Bytes {
  if (length > randomPool.length) return plain(randomBytes(length));
  if (drawn + length > randomPool.length) {
    randomFillSync(randomPool);
    drawn = 0;
  }
  const bytes = randomPool.slice(drawn, drawn + length);
  randomPool.fill(0, drawn, drawn + length);
  drawn += length;
  return bytes;
}

/** Creates an engine that uses Node's own crypto, and processes volumes in worker threads over shared memory. @public */
export function nodeEngine(options: NodeEngineOptions = {}): NodeEngine {
  const threads = options.threads ?? Math.min(8, availableParallelism());
  const workers = createWorkers(options.worker ?? new URL('./worker.ts', import.meta.url), threads);
  const pool = new MemoryPool();
  const nothing = () => {};
  const noMemory = { bytes: EMPTY, release: nothing };
  const borrow = (length: number) =>
    length <= INLINE ? { bytes: new Uint8Array(length), release: nothing } : pool.lend(length);

  const engine: NodeEngine = {
    parallel: threads,
    close: workers.close,
    random,
    hold: (key) => key,
    sha256: (data) => plain(hash('sha256', data, 'buffer')),
    hasher() {
      const hashing = createHash('sha256');
      return { update: (data) => void hashing.update(data), digest: () => plain(hashing.digest()) };
    },
    hmac: (key, data) => plain(createHmac('sha256', requireKey(key)).update(data).digest()),
    hkdf: (key, salt, info, length) =>
      new Uint8Array(hkdfSync('sha256', requireKey(key), salt, info, length)),

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
        decipher.final(); // returns no bytes, only compares the tag
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
        ctr: (counter, data) => plain(createCipheriv('aes-256-ctr', cipherKey!, counter).update(data)),
      };
    },

    async argon2id(secret, salt, { m, t, p }) {
      const cost = { parallelism: p, memory: m, passes: t };
      return plain(await argon2Async('argon2id', { message: secret, nonce: salt, tagLength: 32, ...cost }));
    },

    async sealSegments(key, source, { offset, length }, digestOnly = false) {
      const input =
        source instanceof FileSource ? { fd: source.fd, offset, length } : await source.read(offset, length);
      const { bytes, release } = digestOnly ? noMemory : borrow(sealedSize(length));
      const memory = digestOnly ? undefined : bytes;
      try {
        const digest =
          length <= INLINE
            ? sealInto(key, input, memory)
            : await workers.run({ kind: 'seal', key, input, memory });
        if (!digest) throw new FileChangedError('the file became shorter while it was being uploaded');
        return { bytes, digest, release };
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
        const digest = openInPlace(key, sealed);
        return digest && { bytes: sealed.subarray(0, length), digest, release: nothing };
      }
      const { bytes: memory, release } = shared
        ? { bytes: sealed, release: nothing }
        : pool.lend(sealed.length);
      try {
        if (!shared) memory.set(sealed);
        const digest = await workers.run({ kind: 'open', key, memory });
        if (!digest) release();
        // Must not be a Buffer, whose `slice` does not copy.
        const bytes = new Uint8Array(memory.buffer, memory.byteOffset, length);
        return digest && { bytes, digest, release };
      } catch (error) {
        release();
        throw error;
      }
    },

    borrow,
  };
  return engine;
}
