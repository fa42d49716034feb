/** Seals and opens volumes. */
import { type Bytes, concat, equal, u32 } from './bytes.ts';
import {
  type ByteSource,
  type Engine,
  labelBytes,
  labels,
  type OpenedVolume,
  type SealedVolume,
  type VolumeKey,
} from './engine.ts';
import { HEAD_BYTES, lastOf, nonceOf, SALT_BYTES, sealedSize, segmentOf } from './segments.ts';

/** Version of the format. */
export const VERSION = 1;

/** Identifies a volume, with the key of its file. */
export interface VolumePlace {
  fileId: Bytes;
  fileKey: Bytes;
  /** Counted from 1. */
  idx: number;
  /** Whether this is the last volume of the file. */
  isLast: boolean;
}

export interface SealOptions {
  /** The salt of a volume that was sealed before, to get the same bytes again. Random by default. */
  salt?: Bytes | undefined;
  /** Computes only the digest; `bytes` may be empty. */
  digestOnly?: boolean | undefined;
}

async function deriveVolumeKey(engine: Engine, place: VolumePlace, salt: Bytes): Promise<VolumeKey> {
  const { fileKey, fileId, idx, isLast } = place;
  const derived = await engine.hkdf(fileKey, salt, concat(labelBytes(labels.volume), fileId, u32(idx)), 64);
  return {
    head: concat(salt, derived.subarray(32)),
    key: derived.slice(0, 32),
    aad: concat(Uint8Array.of(VERSION), fileId, u32(idx)),
    isLast,
  };
}

/** Reads a part of the source and seals it as a volume. Release the result when it is no longer needed. @public */
export async function sealVolume(
  engine: Engine,
  place: VolumePlace,
  source: ByteSource,
  part: { offset: number; length: number },
  { salt = engine.random(SALT_BYTES), digestOnly }: SealOptions = {},
): Promise<SealedVolume> {
  const key = await deriveVolumeKey(engine, place, salt);
  return { ...(await engine.sealSegments(key, source, part, digestOnly)), salt };
}

/**
 * Derives the key of a volume from its head.
 * @returns undefined if the commitment in the head belongs to another key @public
 */
export async function openHead(
  engine: Engine,
  place: VolumePlace,
  head: Uint8Array,
): Promise<VolumeKey | undefined> {
  if (head.length !== HEAD_BYTES) return undefined;
  const key = await deriveVolumeKey(engine, place, new Uint8Array(head.slice(0, SALT_BYTES)));
  return equal(key.head, head) ? key : undefined;
}

/** Failed check, in the order of the checks. `commitment`: sealed with another key, or as another volume. @public */
export type VolumeFault = 'length' | 'commitment' | 'tag';

/**
 * Opens a whole volume. May overwrite the ciphertext.
 * @param length length of the plaintext
 * @returns the plaintext, to be released, or the check that failed @public
 */
export async function openVolume(
  engine: Engine,
  place: VolumePlace,
  length: number,
  sealed: Uint8Array,
): Promise<OpenedVolume | { fault: VolumeFault }> {
  if (sealed.length !== sealedSize(length)) return { fault: 'length' };
  const key = await openHead(engine, place, sealed.subarray(0, HEAD_BYTES));
  if (!key) return { fault: 'commitment' };
  const opened = await engine.openSegments(key, sealed);
  return opened ? { ...opened, salt: key.head.slice(0, SALT_BYTES) } : { fault: 'tag' };
}

/**
 * Opens segment `j` (from 0) of a volume whose plaintext has `length` bytes.
 * @returns undefined if the bytes are not that segment @public
 */
export async function openSegment(
  engine: Engine,
  { key, aad, isLast }: VolumeKey,
  length: number,
  j: number,
  sealed: Bytes,
): Promise<Bytes | undefined> {
  if (sealed.length !== segmentOf(length, j).size) return undefined;
  return engine.gcmOpen(key, aad, sealed, nonceOf(j, lastOf(length, j, isLast)));
}

/** Returns SHA-256 over the digests of all volumes in order. It reveals nothing about the plaintext. @public */
export const totalSha256 = async (engine: Engine, digests: Uint8Array[]): Promise<Bytes> =>
  engine.sha256(concat(...digests));
