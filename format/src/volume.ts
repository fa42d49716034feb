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

export const VERSION = 1;

/** Which volume of which file. */
export interface VolumePlace {
  fileId: Bytes;
  fileKey: Bytes;
  /** From 1. */
  idx: number;
  /** The file ends with it. */
  isLast: boolean;
}

export interface SealOptions {
  /** Of a volume that was sealed before and is to come out the same; a new one otherwise, every time. */
  salt?: Bytes | undefined;
  /** Nobody needs its bytes, which may be absent: nor the memory for them. */
  digestOnly?: boolean | undefined;
}

async function keyOf(engine: Engine, place: VolumePlace, salt: Bytes): Promise<VolumeKey> {
  const { fileKey, fileId, idx, isLast } = place;
  const derived = await engine.hkdf(fileKey, salt, concat(labelBytes(labels.volume), fileId, u32(idx)), 64);
  return {
    head: concat(salt, derived.subarray(32)),
    key: derived.slice(0, 32),
    aad: concat(Uint8Array.of(VERSION), fileId, u32(idx)),
    isLast,
  };
}

/** Reads a part of the source and seals it as a volume. @public */
export async function sealVolume(
  engine: Engine,
  place: VolumePlace,
  source: ByteSource,
  part: { offset: number; length: number },
  { salt = engine.random(SALT_BYTES), digestOnly }: SealOptions = {},
): Promise<SealedVolume> {
  const key = await keyOf(engine, place, salt);
  return { ...(await engine.sealSegments(key, source, part, digestOnly)), salt };
}

/** The key of a volume by its first bytes; undefined when the commitment in them is not that of this key. @public */
export async function openHead(
  engine: Engine,
  place: VolumePlace,
  head: Uint8Array,
): Promise<VolumeKey | undefined> {
  if (head.length !== HEAD_BYTES) return undefined;
  const key = await keyOf(engine, place, new Uint8Array(head.slice(0, SALT_BYTES)));
  return equal(key.head, head) ? key : undefined;
}

/** In the order in which they are looked for. `commitment`: it was sealed under another key, or for another place. @public */
export type VolumeFault = 'length' | 'commitment' | 'tag';

/** Opens a volume whose plaintext has `length` bytes: all of it, or nothing. The ciphertext may be overwritten. @public */
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

/** Opens segment `j` (from 0) of a volume whose plaintext has `length` bytes, by itself. @public */
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

/** Over the digests of the volumes in their order: checkable by anyone, silent about the plaintext. @public */
export async function totalSha256(engine: Engine, digests: Uint8Array[]): Promise<Bytes> {
  return engine.sha256(concat(...digests));
}
