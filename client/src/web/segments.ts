/** Seals and opens the segments of a volume with Web Crypto, in existing memory. */
import {
  type Bytes,
  lastOf,
  nonceOf,
  plainLength,
  segmentOf,
  segmentsIn,
  type VolumeKey,
} from '@szafa/format';

/** Receives the memory of each cipher result after it was copied. @public */
export type Discard = (result: ArrayBuffer) => void;

const keep: Discard = () => {};

function paramsOf({ aad, isLast }: VolumeKey, length: number, j: number): AesGcmParams {
  return { name: 'AES-GCM', iv: nonceOf(j, lastOf(length, j, isLast)), additionalData: aad };
}

/** Returns the opened bytes; undefined if the tag is wrong. */
export async function unlessChanged(opened: Promise<ArrayBuffer>): Promise<Bytes | undefined> {
  try {
    return new Uint8Array(await opened);
  } catch (error) {
    if ((error as Error).name === 'OperationError') return undefined;
    throw error;
  }
}

/** Seals head and segments into `memory`. The plaintext may be at the beginning of the same memory. @public */
export async function sealInto(
  volume: VolumeKey,
  plain: Bytes,
  memory: Bytes,
  discard: Discard = keep,
): Promise<void> {
  const { subtle } = globalThis.crypto;
  const { length } = plain;
  const key = await subtle.importKey('raw', volume.key, 'AES-GCM', false, ['encrypt']);
  // Start at the end: a sealed segment then never overwrites plaintext that is still to be sealed.
  for (let j = segmentsIn(length) - 1; j >= 0; j--) {
    const { from, to, offset } = segmentOf(length, j);
    const sealed = await subtle.encrypt(paramsOf(volume, length, j), key, plain.subarray(from, to));
    memory.set(new Uint8Array(sealed), offset);
    discard(sealed);
  }
  memory.set(volume.head);
}

/**
 * Opens a whole volume in place: the plaintext moves to the beginning of `memory`. Returns undefined if a tag is wrong, and then `memory`
 * is zeroed.
 */
export async function openInPlace(
  volume: VolumeKey,
  memory: Bytes,
  discard: Discard = keep,
): Promise<Bytes | undefined> {
  const { subtle } = globalThis.crypto;
  const length = plainLength(memory.length);
  if (length === undefined) return undefined;
  const key = await subtle.importKey('raw', volume.key, 'AES-GCM', false, ['decrypt']);
  for (let j = 0; j < segmentsIn(length); j++) {
    const { from, offset, size } = segmentOf(length, j);
    const sealed = memory.subarray(offset, offset + size);
    const plain = await unlessChanged(subtle.decrypt(paramsOf(volume, length, j), key, sealed));
    if (!plain) {
      memory.fill(0);
      return undefined;
    }
    memory.set(plain, from);
    discard(plain.buffer);
  }
  return memory.subarray(0, length);
}
