/** How a file is divided into volumes. */
import { limits } from '@szafa/protocol';
import { HEAD_BYTES, SEGMENT_SIZE, sealedSize, TAG_BYTES } from './segments.ts';

const MIB = 1024 * 1024;
/** Default plaintext size of a volume. @public */
export const DEFAULT_VOLUME_SIZE = 8 * MIB;
/** @public */
export const MAX_VOLUME_SIZE = 1024 * MIB;
/** A stream may be long, so its volumes grow after this number. */
const EARLY_VOLUMES = 1000;
const LATE_VOLUME_SIZE = 64 * MIB;

/** Plaintext bytes of a full volume. @public */
export interface VolumeSizes {
  volumeSize: number;
  /** Applies to volumes after number 1,000. */
  lateVolumeSize: number;
}

/** The volumes of a file; all but the last are full. @public */
export interface Layout extends VolumeSizes {
  /** Bytes of the file. */
  size: number;
  /** Bytes of all volumes: the file plus zeros that hide its size. Usually equal to `size`. */
  padded: number;
  count: number;
}

const isVolumeSize = (size: number): boolean =>
  Number.isSafeInteger(size) && size >= 1 && size <= MAX_VOLUME_SIZE;

/** Whether every volume but the last has whole segments, so that a file's size follows from its record. @public */
export function areVolumeSizes({ volumeSize, lateVolumeSize }: VolumeSizes): boolean {
  if (!isVolumeSize(volumeSize) || !isVolumeSize(lateVolumeSize)) return false;
  const small = volumeSize < SEGMENT_SIZE && lateVolumeSize === volumeSize;
  return small || (volumeSize % SEGMENT_SIZE === 0 && lateVolumeSize % SEGMENT_SIZE === 0);
}

/**
 * Rounds a requested volume size up to whole segments; sizes below one segment stay.
 * @throws RangeError outside 1 byte to 1 GiB
 */
export function roundVolumeSize(wish: number): number {
  if (!isVolumeSize(wish)) {
    throw new RangeError(`a volume must have 1 to ${MAX_VOLUME_SIZE} bytes, not ${wish}`);
  }
  return wish < SEGMENT_SIZE ? wish : Math.ceil(wish / SEGMENT_SIZE) * SEGMENT_SIZE;
}

/** Cuts a file of known size into volumes of the requested size; larger ones if it would exceed the limit of volumes. @public */
export function layoutOf(size: number, wish: number = DEFAULT_VOLUME_SIZE): Layout {
  const wished = roundVolumeSize(wish);
  const least = Math.ceil(size / limits.volumesPerFile / MIB) * MIB;
  const volumeSize =
    size > wished * limits.volumesPerFile ? roundVolumeSize(Math.max(wished, least)) : wished;
  return layoutWith({ volumeSize, lateVolumeSize: volumeSize }, size);
}

/** Returns volume sizes for a source of unknown length. @public */
export function streamSizes(wish: number = DEFAULT_VOLUME_SIZE): VolumeSizes {
  const volumeSize = Math.max(SEGMENT_SIZE, roundVolumeSize(wish));
  return { volumeSize, lateVolumeSize: Math.max(volumeSize, LATE_VOLUME_SIZE) };
}

/** Returns the layout of `size` bytes in volumes of these sizes. An empty file has one empty volume. @public */
export function layoutWith({ volumeSize, lateVolumeSize }: VolumeSizes, size: number, padded = size): Layout {
  const early = volumeSize * EARLY_VOLUMES;
  const count =
    padded <= early
      ? Math.max(1, Math.ceil(padded / volumeSize))
      : EARLY_VOLUMES + Math.ceil((padded - early) / lateVolumeSize);
  return { size, padded, volumeSize, lateVolumeSize, count };
}

/** Returns offset and length of volume `idx` (from 1), assuming that it is full. */
export function wholeExtent(
  { volumeSize, lateVolumeSize }: VolumeSizes,
  idx: number,
): { offset: number; length: number } {
  const late = Math.max(0, idx - 1 - EARLY_VOLUMES);
  const offset = (idx - 1 - late) * volumeSize + late * lateVolumeSize;
  return { offset, length: idx > EARLY_VOLUMES ? lateVolumeSize : volumeSize };
}

/** Returns offset and length of the plaintext of volume `idx` (from 1), padding included. @public */
export function extentOf(layout: Layout, idx: number): { offset: number; length: number } {
  const { offset, length } = wholeExtent(layout, idx);
  return { offset, length: Math.min(length, layout.padded - offset) };
}

/** Returns the number (from 1) of the volume that contains this byte. @public */
export function volumeAt({ volumeSize, lateVolumeSize }: VolumeSizes, offset: number): number {
  const early = volumeSize * EARLY_VOLUMES;
  if (offset < early) return Math.floor(offset / volumeSize) + 1;
  return EARLY_VOLUMES + Math.floor((offset - early) / lateVolumeSize) + 1;
}

/** Returns the plaintext size of the largest volume. */
export function largestVolume(layout: Layout): number {
  const { volumeSize, lateVolumeSize, count, padded } = layout;
  const whole = count > EARLY_VOLUMES ? Math.max(volumeSize, lateVolumeSize) : volumeSize;
  return Math.min(whole, padded);
}

/** Returns the total size of all sealed volumes. @public */
export function storedSize(layout: Layout): number {
  const whole = wholeExtent(layout, layout.count);
  const last = sealedSize(layout.padded - whole.offset);
  const late = Math.max(0, layout.count - 1 - EARLY_VOLUMES);
  const early = layout.count - 1 - late;
  return early * sealedSize(layout.volumeSize) + late * sealedSize(layout.lateVolumeSize) + last;
}

/** Returns the plaintext size, padding included, of `count` volumes whose sealed size is `stored` in total. */
export function sizeOfStored(stored: number, count: number): number {
  const sealed = stored - count * HEAD_BYTES;
  const segments = Math.max(count, Math.ceil(sealed / (SEGMENT_SIZE + TAG_BYTES)));
  return sealed - segments * TAG_BYTES;
}
