import { type Bytes, concat, readU32, u32, utf8 } from './bytes.ts';
import { type Engine, labels } from './engine.ts';
import { NameError } from './errors.ts';
import type { FileSecrets } from './header.ts';
import { seal, unseal } from './seal.ts';

const KIB = 1024;
/** What a thumbnail is padded to with its length before it: the service learns little of the picture. */
const STEPS = [8 * KIB, 16 * KIB, 32 * KIB];
const LENGTH = 4;

/** @public */
export const MOST_THUMBNAIL_BYTES = STEPS.at(-1)! - LENGTH;

/** From the file key, which is all that a share gives away. */
function thumbnailKey(engine: Engine, { fileKey, fileId }: FileSecrets): Promise<Bytes> | Bytes {
  return engine.hkdf(fileKey, fileId, utf8(labels.thumb), 32);
}

/** Under a key of its own each time: of two pictures for one file none says anything about the other. @public */
export async function sealThumbnail(engine: Engine, secrets: FileSecrets, bytes: Uint8Array): Promise<Bytes> {
  const size = STEPS.find((step) => bytes.length + LENGTH <= step);
  if (size === undefined) throw new NameError(`a thumbnail has at most ${MOST_THUMBNAIL_BYTES} bytes`);
  const zeros = new Uint8Array(size - LENGTH - bytes.length);
  const plain = concat(u32(bytes.length), bytes, zeros);
  return seal(engine, await thumbnailKey(engine, secrets), labels.thumb, plain);
}

/** Undefined where it is not a thumbnail of this file. @public */
export async function openThumbnail(
  engine: Engine,
  secrets: FileSecrets,
  sealed: Bytes,
): Promise<Bytes | undefined> {
  const opened = await unseal(engine, await thumbnailKey(engine, secrets), labels.thumb, sealed);
  if (!('plain' in opened) || !STEPS.includes(opened.plain.length)) return undefined;
  const length = readU32(opened.plain, 0);
  const end = LENGTH + length;
  const { plain } = opened;
  return end <= plain.length && plain.subarray(end).every((byte) => byte === 0)
    ? plain.slice(LENGTH, end)
    : undefined;
}
