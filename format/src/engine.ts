import { type Bytes, utf8 } from './bytes.ts';

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

type Soon<T> = T | Promise<T>;

/** A volume that may be in borrowed memory: call `release` when it is no longer needed. @public */
export interface SealedSegments {
  bytes: Uint8Array;
  /** SHA-256 of `bytes`. */
  digest: Bytes;
  release(): void;
}

/** With the salt by which it can be made again. @public */
export interface SealedVolume extends SealedSegments {
  salt: Bytes;
}

/** Plaintext that may be in borrowed memory, with the SHA-256 of the volume it came from. @public */
export interface OpenedSegments {
  bytes: Uint8Array;
  digest: Bytes;
  release(): void;
}

/** With the salt by which the volume can be made again. @public */
export interface OpenedVolume extends OpenedSegments {
  salt: Bytes;
}

/** What the segments of one volume are sealed with. @public */
export interface VolumeKey {
  /** Salt and commitment, as they stand before the segments. */
  head: Bytes;
  key: Bytes;
  aad: Bytes;
  /** The file ends with this volume. */
  isLast: boolean;
}

/** What names are sealed with. Made once for thousands of them: in a browser each import of a key costs as much as its use. @public */
export interface NameCipher {
  /** HMAC-SHA256. */
  mac(data: Bytes): Soon<Bytes>;
  /** AES-256-CTR with a counter of 128 bits. */
  ctr(counter: Bytes, data: Bytes): Soon<Bytes>;
}

/** SHA-256 of bytes that come one after the other. @public */
export interface Hasher {
  update(data: Uint8Array): void;
  digest(): Bytes;
}

/**
 * The primitives under the format. There are two sets: Web Crypto, which runs everywhere, and Node's own,
 * which gives the same bytes faster. The format itself is written once, above this interface. @public
 */
export interface Engine {
  random(length: number): Bytes;
  sha256(data: Uint8Array): Soon<Bytes>;
  /** For more bytes than fit into memory. */
  hasher(): Soon<Hasher>;
  hmac(key: Bytes, data: Bytes): Soon<Bytes>;
  hkdf(key: Bytes, salt: Bytes, info: Bytes, length: number): Soon<Bytes>;
  /** AES-256-GCM. Twelve zero bytes are the nonce of a key that is used once, unless told. */
  gcmSeal(key: Bytes, aad: Bytes, data: Bytes, nonce?: Bytes): Soon<Bytes>;
  /** Undefined when the tag does not fit. */
  gcmOpen(key: Bytes, aad: Bytes, data: Bytes, nonce?: Bytes): Soon<Bytes | undefined>;
  /** Under two keys of 32 bytes, which the engine copies. */
  nameCipher(mac: Bytes, cipher: Bytes): Soon<NameCipher>;
  /**
   * Told of every key that lives as long as a session or an opened file, as soon as it is there and needed in the clear no
   * more. An engine may keep the key itself and empty these bytes; the array then stands for the key, in `hkdf` only.
   */
  hold(key: Bytes): Soon<Bytes>;
  argon2id(secret: Bytes, salt: Bytes, params: KdfParams): Promise<Bytes>;
  /** Reads a part of the source and seals it, segment by segment. `digestOnly`: there need not be any `bytes`. */
  sealSegments(
    key: VolumeKey,
    source: ByteSource,
    part: { offset: number; length: number },
    digestOnly?: boolean,
  ): Promise<SealedSegments>;
  /** A whole volume, whose head is that of the key. Undefined when a tag does not fit. The ciphertext may be overwritten. */
  openSegments(key: VolumeKey, sealed: Uint8Array): Promise<OpenedSegments | undefined>;
  /** Memory for a volume that is about to arrive. */
  borrow(length: number): { bytes: Uint8Array; release(): void };
  /** How many volumes are worth working on at once. */
  readonly parallel: number;
}

/** Every label of the format: what a derived key is for. @public */
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

const encoded = new Map<string, Bytes>();

/** The bytes of a label, encoded once: there are a few of them, and each of thousands of files needs three. */
export function labelBytes(label: string): Bytes {
  let bytes = encoded.get(label);
  if (!bytes) {
    bytes = utf8(label);
    encoded.set(label, bytes);
  }
  return bytes;
}

/** Bytes of a key that an engine holds are zeros, and so is a copy of them, which stands for no key. @public */
export function requireKey(key: Bytes): Bytes {
  if (key.every((byte) => byte === 0)) throw new TypeError('zeros are no key');
  return key;
}

export const EMPTY: Bytes = new Uint8Array(0);
