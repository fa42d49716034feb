import { limits } from '@szafa/protocol';
import { type Bytes, concat, u32, utf8 } from './bytes.ts';
import { EMPTY, type Engine, labels, type VolumeKey } from './engine.ts';

export const VERSION = 1;
export const TAG_BYTES = 16;
const MIB = 1024 * 1024;
/** Bytes of plaintext in a volume, unless told. @public */
export const DEFAULT_VOLUME_SIZE = 8 * MIB;
/** A volume is sealed in one piece and so has to fit in memory, on both ends. @public */
export const MAX_VOLUME_SIZE = 1024 * MIB;

/** How a file of `size` bytes is cut; every volume but the last is whole. @public */
export interface Layout {
  size: number;
  volumeSize: number;
  count: number;
}

/** 8 MiB or the wish, but never more volumes than a file may have. An empty file is one empty volume. @public */
export function layoutOf(size: number, wish: number = DEFAULT_VOLUME_SIZE): Layout {
  const least = Math.ceil(size / limits.volumesPerFile / MIB) * MIB;
  const volumeSize = Math.max(wish, size > wish * limits.volumesPerFile ? least : 0);
  if (!Number.isSafeInteger(volumeSize) || volumeSize < 1 || volumeSize > MAX_VOLUME_SIZE) {
    throw new RangeError(`a volume must have 1 to ${MAX_VOLUME_SIZE} bytes, not ${volumeSize}`);
  }
  return { size, volumeSize, count: volumesOf(size, volumeSize) };
}

export function volumesOf(size: number, volumeSize: number): number {
  return Math.max(1, Math.ceil(size / volumeSize));
}

/** Where the plaintext of volume `idx` (from 1) lies. @public */
export function extentOf({ size, volumeSize }: Layout, idx: number): { offset: number; length: number } {
  const offset = (idx - 1) * volumeSize;
  return { offset, length: Math.min(volumeSize, size - offset) };
}

/** Bytes at rest: the plaintext and a tag for each volume. @public */
export function storedSize({ size, count }: Layout): number {
  return size + count * TAG_BYTES;
}

/** The keys of the volumes of one file, made when they are needed. @public */
export function volumeKeys(engine: Engine, fileKey: Bytes, fileId: Bytes, count: number) {
  return async (idx: number): Promise<VolumeKey> => ({
    key: await engine.hkdf(fileKey, EMPTY, concat(utf8(labels.volume), fileId, u32(idx)), 32),
    aad: concat(Uint8Array.of(VERSION), fileId, u32(idx), u32(count)),
  });
}

export type VolumeKeys = ReturnType<typeof volumeKeys>;

/** Over the digests of the volumes in their order: checkable by anyone, silent about the plaintext. @public */
export async function totalSha256(engine: Engine, digests: Uint8Array[]): Promise<Bytes> {
  return engine.sha256(concat(...digests));
}
