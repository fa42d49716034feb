/** Seals and opens thumbnails. */
import { type Bytes, concat, isZero, readU32, u32 } from './bytes.ts';
import { deriveKey, type Engine, labels } from './engine.ts';
import { NameError } from './errors.ts';
import type { FileSecrets } from './header.ts';
import { seal, unseal } from './seal.ts';

const KIB = 1024;
/** Padded sizes of a thumbnail with its length field, so that the size reveals little about the picture. */
const STEPS = [8 * KIB, 16 * KIB, 32 * KIB];
const LENGTH = 4;

/** @public */
export const MOST_THUMBNAIL_BYTES = STEPS.at(-1)! - LENGTH;

/** Derives from the file key, so that anyone with a share of the file can open the thumbnail too. */
const thumbnailKey = (engine: Engine, { fileKey, fileId }: FileSecrets) =>
  deriveKey(engine, fileKey, labels.thumb, fileId);

/**
 * Seals a thumbnail under a new key.
 * @throws NameError if it has more than MOST_THUMBNAIL_BYTES bytes @public
 */
export async function sealThumbnail(engine: Engine, secrets: FileSecrets, bytes: Uint8Array): Promise<Bytes> {
  const size = STEPS.find((step) => bytes.length + LENGTH <= step);
  if (size === undefined) throw new NameError(`a thumbnail has at most ${MOST_THUMBNAIL_BYTES} bytes`);
  const zeros = new Uint8Array(size - LENGTH - bytes.length);
  const plain = concat(u32(bytes.length), bytes, zeros);
  return seal(engine, await thumbnailKey(engine, secrets), labels.thumb, plain);
}

/** Opens a thumbnail. Returns undefined if it does not belong to this file. @public */
export async function openThumbnail(
  engine: Engine,
  secrets: FileSecrets,
  sealed: Bytes,
): Promise<Bytes | undefined> {
  const opened = await unseal(engine, await thumbnailKey(engine, secrets), labels.thumb, sealed);
  if (!('plain' in opened) || !STEPS.includes(opened.plain.length)) return undefined;
  const { plain } = opened;
  const end = LENGTH + readU32(plain, 0);
  return end <= plain.length && isZero(plain.subarray(end)) ? plain.slice(LENGTH, end) : undefined;
}
