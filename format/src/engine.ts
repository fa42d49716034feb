/** The cryptographic primitives under the format, and the labels of derived keys. */
import { type Bytes, isZero, utf8 } from './bytes.ts';

/** Cost of Argon2id. @public */
export interface KdfParams {
  /** Memory in KiB. */
  m: number;
  /** Passes. */
  t: number;
  /** Lanes. */
  p: number;
}

/** Plaintext to seal, readable at any offset. @public */
export interface ByteSource {
  /** Returns exactly `length` bytes at `offset`, in memory that the caller may keep. */
  read(offset: number, length: number): Promise<Uint8Array>;
}

type MaybePromise<T> = T | Promise<T>;

/** A sealed volume, perhaps in borrowed memory: call `release` when it is no longer needed. @public */
export interface SealedSegments {
  bytes: Uint8Array;
  /** SHA-256 of the sealed volume. */
  digest: Bytes;
  release(): void;
}

/** @public */
export interface SealedVolume extends SealedSegments {
  /** Sealing the same plaintext with this salt gives the same bytes. */
  salt: Bytes;
}

/** The plaintext of a volume, with the digest of the sealed volume. @public */
export type OpenedSegments = SealedSegments;

/** @public */
export type OpenedVolume = SealedVolume;

/** The key of one volume's segments, with the values bound to it. @public */
export interface VolumeKey {
  /** Salt and commitment, the bytes before the first segment. */
  head: Bytes;
  key: Bytes;
  aad: Bytes;
  /** Whether this is the last volume of the file. */
  isLast: boolean;
}

/** Seals names. Reuse one object for many names: in a browser, importing a key costs as much as using it. @public */
export interface NameCipher {
  /** HMAC-SHA256. */
  mac(data: Bytes): MaybePromise<Bytes>;
  /** AES-256-CTR with a counter of 128 bits. */
  ctr(counter: Bytes, data: Bytes): MaybePromise<Bytes>;
}

/** Incremental SHA-256. @public */
export interface Hasher {
  update(data: Uint8Array): void;
  digest(): Bytes;
}

/**
 * The primitives under the format. There are two implementations: Web Crypto, which runs everywhere, and Node's own crypto, which gives
 * the same bytes faster. @public
 */
export interface Engine {
  random(length: number): Bytes;
  sha256(data: Uint8Array): MaybePromise<Bytes>;
  /** Hashes data that does not fit into memory. */
  hasher(): MaybePromise<Hasher>;
  hmac(key: Bytes, data: Bytes): MaybePromise<Bytes>;
  hkdf(key: Bytes, salt: Bytes, info: Bytes, length: number): MaybePromise<Bytes>;
  /** AES-256-GCM. The default nonce is twelve zero bytes, safe only for keys that are used once. */
  gcmSeal(key: Bytes, aad: Bytes, data: Bytes, nonce?: Bytes): MaybePromise<Bytes>;
  /** Returns undefined if the tag is wrong. */
  gcmOpen(key: Bytes, aad: Bytes, data: Bytes, nonce?: Bytes): MaybePromise<Bytes | undefined>;
  /** Both keys have 32 bytes; the engine copies them. */
  nameCipher(mac: Bytes, cipher: Bytes): MaybePromise<NameCipher>;
  /**
   * Hands over a key that lives as long as a session or an opened file. The engine may keep the key itself and zero these bytes. The
   * returned array then stands for the key, and only `hkdf` accepts it.
   */
  hold(key: Bytes): MaybePromise<Bytes>;
  argon2id(secret: Bytes, salt: Bytes, params: KdfParams): Promise<Bytes>;
  /** Reads a part of the source and seals it segment by segment. With `digestOnly`, `bytes` may be empty. */
  sealSegments(
    key: VolumeKey,
    source: ByteSource,
    part: { offset: number; length: number },
    digestOnly?: boolean,
  ): Promise<SealedSegments>;
  /** Opens a whole volume with this key's head. Returns undefined if a tag is wrong. May overwrite the ciphertext. */
  openSegments(key: VolumeKey, sealed: Uint8Array): Promise<OpenedSegments | undefined>;
  /** Lends memory for a volume that is about to arrive. */
  borrow(length: number): { bytes: Uint8Array; release(): void };
  /** Number of volumes to process at once. */
  readonly parallel: number;
}

/** Labels of all derived keys. @public */
export const labels = {
  salt: 'szafa/v1/salt',
  auth: 'szafa/v1/auth',
  kek: 'szafa/v1/kek',
  bag: 'szafa/v1/bag',
  password: 'szafa/v1/password',
  recovery: 'szafa/v1/recovery',
  recoveryAuth: 'szafa/v1/recovery-auth',
  recoveryKek: 'szafa/v1/recovery-kek',
  recoveryCheck: 'szafa/v1/recovery-check',
  passkey: 'szafa/v1/passkey',
  passkeyKek: 'szafa/v1/passkey-kek',
  prf: 'szafa/v1/prf',
  master: 'szafa/v1/master',
  pin: 'szafa/v1/pin',
  x25519: 'szafa/v1/x25519',
  ed25519: 'szafa/v1/ed25519',
  header: 'szafa/v1/header',
  fileKey: 'szafa/v1/file-key',
  metadata: 'szafa/v1/metadata',
  volume: 'szafa/v1/volume',
  fileName: 'szafa/v1/file-name',
  dirName: 'szafa/v1/dir-name',
  thumb: 'szafa/v1/thumb',
  journal: 'szafa/v1/journal',
  summary: 'szafa/v1/summary',
  link: 'szafa/v1/link',
  linkAccess: 'szafa/v1/link-access',
  ownShare: 'szafa/v1/own-share',
  request: 'szafa/v1/request',
  requestAccess: 'szafa/v1/request-access',
  requestNote: 'szafa/v1/request-note',
  requestPsk: 'szafa/v1/request-psk',
  delivery: 'szafa/v1/delivery',
  identity: 'szafa/v1/identity',
  letter: 'szafa/v1/letter',
  uploadToken: 'szafa/v1/upload-token',
} as const;

const encodedLabels = new Map<string, Bytes>();

/** Encodes a label once: every file needs three, and a listing has thousands of files. */
export function labelBytes(label: string): Bytes {
  let bytes = encodedLabels.get(label);
  if (!bytes) {
    bytes = utf8(label);
    encodedLabels.set(label, bytes);
  }
  return bytes;
}

export const EMPTY: Bytes = new Uint8Array(0);

/** Derives a key for one purpose with HKDF. */
export const deriveKey = (
  engine: Engine,
  secret: Bytes,
  label: string,
  salt = EMPTY,
  length = 32,
): MaybePromise<Bytes> => engine.hkdf(secret, salt, labelBytes(label), length);

/** Refuses zeros: an engine zeroes the bytes of a key that it holds, and a copy of those bytes is not the key. @public */
export function requireKey(key: Bytes): Bytes {
  if (isZero(key)) throw new TypeError('zeros are no key');
  return key;
}
