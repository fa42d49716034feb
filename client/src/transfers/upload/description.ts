import {
  type Bytes,
  type Engine,
  extentOf,
  type FileSecrets,
  type Layout,
  type Master,
  type Metadata,
  MOST_COUNTED,
  metadataText,
  parseHeader,
  parseMetadata,
  sealedSize,
  sealFileName,
  sealHeader,
  sealThumbnail,
  storedSize,
  totalSha256,
} from '@szafa/format';
import type { CompleteBody, InitBody } from '@szafa/protocol';
import { SzafaError } from '../../errors.ts';
import { belowFirst } from '../../files/paths.ts';
import { range } from '../../pool.ts';
import type { PlacedOptions, UploadOptions } from './options.ts';

/** A file whose volumes are all sealed. */
export interface SealedFile {
  layout: Layout;
  secrets: FileSecrets;
  digests: Bytes[];
}

/** Fields that order the versions of a path. */
export interface Age {
  gen: number;
  added: number;
}

export function ageOf({ added = Date.now(), after = 0 }: Pick<UploadOptions, 'added' | 'after'>): Age {
  return { gen: Math.min(after + 1, MOST_COUNTED), added };
}

/** Returns the description of a file that the server gets; most of it is sealed. */
export async function describe(
  engine: Engine,
  master: Master,
  { layout, digests, secrets }: SealedFile,
  { gen, added }: Age,
  options: PlacedOptions,
): Promise<CompleteBody> {
  const { path, dirId, mtime, nanos, type, mode, special, source, link, sparse, hardlink } = options;
  const { plainName, thumbnail, onThumbnail } = options;
  const total = (await totalSha256(engine, digests)).toHex();
  const picture = thumbnail && (await sealThumbnail(engine, secrets, thumbnail));
  if (picture) onThumbnail?.(picture);
  const metadata: Metadata = {
    name: path.toWellFormed(),
    size: layout.size,
    rev: 1,
    gen,
    added,
    ...(mtime !== undefined && { mtime: Math.round(mtime) }),
    ...(nanos && { nanos }),
    ...(type !== undefined && { type }),
    ...(mode !== undefined && { mode: mode & 0o777 }),
    ...(special && { special }),
    ...(source !== undefined && { source: source.toWellFormed() }),
    ...(link !== undefined && { link }),
    ...(sparse && { sparse }),
    ...(hardlink !== undefined && { hardlink }),
    ...(picture && { thumbnail: (await engine.sha256(picture)).toHex() }),
  };
  checkOwn(metadata);
  const shown = dirId ? belowFirst(metadata.name) : metadata.name;
  const binding = { totalSha256: total, storedSize: storedSize(layout), count: layout.count };
  return {
    file_name: plainName ? shown : await sealFileName(engine, master.key, metadata, binding),
    file_size: binding.storedSize,
    total_sha256: total,
    chunk_count: layout.count,
    enc_params: await sealHeader(engine, { ...secrets, layout, totalSha256: total, master, metadata }),
  };
}

/** Returns the epoch of the master key that sealed a description. */
export const epochOf = ({ enc_params }: CompleteBody): number => parseHeader({ ...enc_params }).epoch;

/** Throws if readers would refuse the metadata: the file could never be opened. */
function checkOwn(metadata: Metadata): void {
  try {
    parseMetadata(metadataText(metadata));
  } catch (cause) {
    throw new SzafaError('bad-description', (cause as Error).message, { cause });
  }
}

/** Throws if a file cannot be described, before any volume is sent. */
export async function checkDescribable(
  engine: Engine,
  master: Master,
  { layout, secrets }: Pick<SealedFile, 'layout' | 'secrets'>,
  options: PlacedOptions,
): Promise<void> {
  await describe(engine, master, { layout, secrets, digests: [] }, ageOf(options), options);
}

/** Returns the sizes of all sealed volumes. */
export function sizesOf(layout: Layout): { size: number }[] {
  return Array.from(range(1, layout.count), (idx) => ({ size: sealedSize(extentOf(layout, idx).length) }));
}

/** Returns the body of an `init` that declares all digests. */
export function declare(
  description: CompleteBody,
  { layout, digests }: SealedFile,
  { dirId }: PlacedOptions,
): InitBody {
  const chunks = sizesOf(layout).map(({ size }, at) => ({ size, sha256: digests[at]!.toHex() }));
  return { ...description, chunks, dir_id: dirId };
}
