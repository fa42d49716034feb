import type { InitBody } from '@szafa/protocol';
import type { Master } from '../format/bag.ts';
import type { Engine } from '../format/engine.ts';
import { sealHeader } from '../format/header.ts';
import { extentOf, storedSize } from '../format/layout.ts';
import type { Metadata } from '../format/metadata.ts';
import { sealFileName } from '../format/names.ts';
import { sealedSize } from '../format/segments.ts';
import { totalSha256 } from '../format/volume.ts';
import type { UploadOptions } from './options.ts';
import type { VolumeSupply } from './supply.ts';

/** What the service is told of a file whose volumes have their digests: all it ever learns, mostly sealed. */
export async function initBody(
  engine: Engine,
  master: Master,
  { layout, digests, secrets, plainDigest }: VolumeSupply,
  {
    name,
    mtime,
    type,
    gen,
    added,
    mode,
    source,
    plainName,
    dirId,
  }: UploadOptions & { gen: number; added: number },
): Promise<InitBody> {
  const total = (await totalSha256(engine, digests)).toHex();
  const metadata: Metadata = {
    name: name.toWellFormed(),
    size: layout.size,
    rev: 1,
    gen,
    added,
    ...(mtime !== undefined && { mtime: Math.round(mtime) }),
    ...(type !== undefined && { type }),
    ...(plainDigest && { sha256: plainDigest.toHex() }),
    ...(mode !== undefined && { mode: mode & 0o777 }),
    ...(source !== undefined && { source: source.toWellFormed() }),
  };
  const binding = { totalSha256: total, storedSize: storedSize(layout), count: layout.count };
  return {
    file_name: plainName ? metadata.name : await sealFileName(engine, master.key, metadata, binding),
    file_size: binding.storedSize,
    total_sha256: total,
    chunk_count: layout.count,
    chunks: digests.map((digest, i) => ({
      size: sealedSize(extentOf(layout, i + 1).length),
      sha256: digest.toHex(),
    })),
    enc_params: await sealHeader(engine, { ...secrets, layout, totalSha256: total, master, metadata }),
    dir_id: dirId ?? null,
  };
}
