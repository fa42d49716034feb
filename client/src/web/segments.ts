/** The segments of a volume on Web Crypto, in memory that is there already. */
import {
  type Bytes,
  lastOf,
  nonceOf,
  plainLength,
  segmentOf,
  segmentsIn,
  type VolumeKey,
} from '@szafa/format';

/** Gets the memory of every result that was copied to its place. @public */
export type Discard = (result: ArrayBuffer) => void;

const keep: Discard = () => {};

function paramsOf({ aad, isLast }: VolumeKey, length: number, j: number): AesGcmParams {
  return { name: 'AES-GCM', iv: nonceOf(j, lastOf(length, j, isLast)), additionalData: aad };
}

/** What was opened; undefined when the tag did not fit. */
export async function unlessChanged(opened: Promise<ArrayBuffer>): Promise<Bytes | undefined> {
  try {
    return new Uint8Array(await opened);
  } catch (error) {
    if ((error as Error).name === 'OperationError') return undefined;
    throw error;
  }
}

/** Seals into `memory`: head and segments. The plaintext may lie at the beginning of the same memory. @public */
export async function sealInto(
  volume: VolumeKey,
  plain: Bytes,
  memory: Bytes,
  discard: Discard = keep,
): Promise<void> {
  const { subtle } = globalThis.crypto;
  const { length } = plain;
  const key = await subtle.importKey('raw', volume.key, 'AES-GCM', false, ['encrypt']);
  // From the end, where a segment that has been sealed lies on none that is still to come.
  for (let j = segmentsIn(length) - 1; j >= 0; j--) {
    const { from, to, offset } = segmentOf(length, j);
    const sealed = await subtle.encrypt(paramsOf(volume, length, j), key, plain.subarray(from, to));
    memory.set(new Uint8Array(sealed), offset);
    discard(sealed);
  }
  memory.set(volume.head);
}

/** Opens a whole volume in place: the plaintext moves together at its beginning. Undefined, and no plaintext, when a tag does not fit. */
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
