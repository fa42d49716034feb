import { limits } from '@szafa/protocol';
import { HEAD_BYTES, SEGMENT_SIZE, sealedSize, TAG_BYTES } from './segments.ts';

const MIB = 1024 * 1024;
/** Bytes of plaintext in a volume, unless told. @public */
export const DEFAULT_VOLUME_SIZE = 8 * MIB;
/** @public */
export const MAX_VOLUME_SIZE = 1024 * MIB;
/** After this number the volumes of a stream grow: a stream says how long it is when it ends. */
const EARLY_VOLUMES = 1000;
const LATE_VOLUME_SIZE = 64 * MIB;

/** Bytes of plaintext in a whole volume. @public */
export interface VolumeSizes {
  volumeSize: number;
  /** Of the volumes after number 1,000. */
  lateVolumeSize: number;
}

/** How a file is cut; every volume but the last is whole. @public */
export interface Layout extends VolumeSizes {
  /** Bytes of the file. */
  size: number;
  /** Bytes that are cut into volumes: the file and the zeros behind it. As many as `size`, mostly. */
  padded: number;
  count: number;
}

function isVolumeSize(size: number): boolean {
  return Number.isSafeInteger(size) && size >= 1 && size <= MAX_VOLUME_SIZE;
}

/** Whole segments in every volume but the last, so that the size of a file follows from what its record says. @public */
export function areVolumeSizes({ volumeSize, lateVolumeSize }: VolumeSizes): boolean {
  if (!isVolumeSize(volumeSize) || !isVolumeSize(lateVolumeSize)) return false;
  const small = volumeSize < SEGMENT_SIZE && lateVolumeSize === volumeSize;
  return small || (volumeSize % SEGMENT_SIZE === 0 && lateVolumeSize % SEGMENT_SIZE === 0);
}

/** As wished; a volume of more than one segment has whole ones. */
export function sized(wish: number): number {
  if (!isVolumeSize(wish)) {
    throw new RangeError(`a volume must have 1 to ${MAX_VOLUME_SIZE} bytes, not ${wish}`);
  }
  return wish < SEGMENT_SIZE ? wish : Math.ceil(wish / SEGMENT_SIZE) * SEGMENT_SIZE;
}

/** 8 MiB or the wish, but never more volumes than a file may have. @public */
export function layoutOf(size: number, wish: number = DEFAULT_VOLUME_SIZE): Layout {
  const wished = sized(wish);
  const least = Math.ceil(size / limits.volumesPerFile / MIB) * MIB;
  const volumeSize = size > wished * limits.volumesPerFile ? sized(Math.max(wished, least)) : wished;
  return layoutWith({ volumeSize, lateVolumeSize: volumeSize }, size);
}

/** The sizes for a source whose length is not known before its end. @public */
export function streamSizes(wish: number = DEFAULT_VOLUME_SIZE): VolumeSizes {
  const volumeSize = Math.max(SEGMENT_SIZE, sized(wish));
  return { volumeSize, lateVolumeSize: Math.max(volumeSize, LATE_VOLUME_SIZE) };
}

/** The layout of `size` bytes in volumes of these sizes. An empty file is one empty volume. @public */
export function layoutWith({ volumeSize, lateVolumeSize }: VolumeSizes, size: number, padded = size): Layout {
  const early = volumeSize * EARLY_VOLUMES;
  const count =
    padded <= early
      ? Math.max(1, Math.ceil(padded / volumeSize))
      : EARLY_VOLUMES + Math.ceil((padded - early) / lateVolumeSize);
  return { size, padded, volumeSize, lateVolumeSize, count };
}

/** Where volume `idx` (from 1) begins, and how long it is when it is whole. */
export function wholeExtent(
  { volumeSize, lateVolumeSize }: VolumeSizes,
  idx: number,
): { offset: number; length: number } {
  const late = Math.max(0, idx - 1 - EARLY_VOLUMES);
  const offset = (idx - 1 - late) * volumeSize + late * lateVolumeSize;
  return { offset, length: idx > EARLY_VOLUMES ? lateVolumeSize : volumeSize };
}

/** Where the plaintext of volume `idx` (from 1) lies, padding included. @public */
export function extentOf(layout: Layout, idx: number): { offset: number; length: number } {
  const { offset, length } = wholeExtent(layout, idx);
  return { offset, length: Math.min(length, layout.padded - offset) };
}

/** The volume (from 1) that has this byte. @public */
export function volumeAt({ volumeSize, lateVolumeSize }: VolumeSizes, offset: number): number {
  const early = volumeSize * EARLY_VOLUMES;
  if (offset < early) return Math.floor(offset / volumeSize) + 1;
  return EARLY_VOLUMES + Math.floor((offset - early) / lateVolumeSize) + 1;
}

/** The largest volume: what memory must be there for. */
export function largestVolume(layout: Layout): number {
  const { volumeSize, lateVolumeSize, count, padded } = layout;
  const whole = count > EARLY_VOLUMES ? Math.max(volumeSize, lateVolumeSize) : volumeSize;
  return Math.min(whole, padded);
}

/** Bytes at rest, of all volumes. @public */
export function storedSize(layout: Layout): number {
  const whole = wholeExtent(layout, layout.count);
  const last = sealedSize(layout.padded - whole.offset);
  const late = Math.max(0, layout.count - 1 - EARLY_VOLUMES);
  const early = layout.count - 1 - late;
  return early * sealedSize(layout.volumeSize) + late * sealedSize(layout.lateVolumeSize) + last;
}

/** What `storedSize` and the number of volumes tell about the bytes of a file, padding included. */
export function sizeOfStored(stored: number, count: number): number {
  const sealed = stored - count * HEAD_BYTES;
  const segments = Math.max(count, Math.ceil(sealed / (SEGMENT_SIZE + TAG_BYTES)));
  return sealed - segments * TAG_BYTES;
}
