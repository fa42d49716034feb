/** Thumbnails are sealed and stored beside their files; the header of a file has the digest of its thumbnail. */

import { type Bytes, openHeader, openThumbnail, sealThumbnail } from '@szafa/format';
import { decodeEncParams, limits, type ReadThumbnail, RuleError } from '@szafa/protocol';
import type { CallOptions } from '../call.ts';
import { SzafaError, TamperedError } from '../errors.ts';
import { openFile, openWithRecord } from '../transfers/download/open-file.ts';
import { readThumbnail, storeThumbnail } from './calls.ts';
import type { TreeContext } from './context.ts';
import type { Entry } from './listing.ts';
import { resealPaths } from './reseal-files.ts';

/** The thumbnail of a file, or the reason why it is not shown. Both are absent if the file has none. @public */
export interface Thumbnail {
  bytes?: Bytes;
  problem?: SzafaError;
}

/** See `Szafa.thumbnails`. Skips files that are gone. */
export async function readThumbnails(
  context: TreeContext,
  entries: readonly Entry[],
  { signal }: CallOptions = {},
): Promise<Map<string, Thumbnail>> {
  const byId = new Map(entries.map((entry) => [entry.fileId, entry]));
  const ids = [...byId.keys()];
  const found = new Map<string, Thumbnail>();
  for (let at = 0; at < ids.length; at += limits.thumbnailsPerBatch) {
    const batch = ids.slice(at, at + limits.thumbnailsPerBatch);
    const answers = (await context.api.call('readThumbnails', { body: { files: batch }, signal })).thumbnails;
    await Promise.all(
      answers.map(async (answer) => {
        const entry = byId.get(answer.file_id);
        if (entry) found.set(entry.fileId, await verified(context, entry, answer, signal));
      }),
    );
  }
  return found;
}

/** Checks that header, record and thumbnail belong together. */
async function verified(
  context: TreeContext,
  { record }: Entry,
  { enc_params, thumbnail: sealed }: ReadThumbnail,
  signal?: AbortSignal,
): Promise<Thumbnail> {
  const { engine } = context;
  try {
    const header = await openWithRecord(context, record, paramsIn(enc_params), openHeader, signal);
    const { thumbnail } = header.metadata;
    if (thumbnail === undefined || sealed === null) return {};
    const bytes = bytesIn(sealed);
    const isOwn = bytes && (await engine.sha256(bytes)).toHex() === thumbnail;
    const opened = isOwn ? await openThumbnail(engine, header, bytes) : undefined;
    if (!opened) throw new TamperedError('thumbnail', 'the thumbnail is not that of this file');
    return { bytes: opened };
  } catch (error) {
    if (!(error instanceof SzafaError) || error.code === 'network') throw error;
    return { problem: error };
  }
}

function paramsIn(text: string): Record<string, unknown> {
  try {
    return decodeEncParams(text);
  } catch (cause) {
    if (!(cause instanceof RuleError)) throw cause;
    throw new TamperedError('params', cause.message, { cause });
  }
}

function bytesIn(text: string): Bytes | undefined {
  try {
    return Uint8Array.fromBase64(text);
  } catch {
    return undefined;
  }
}

/** See `Szafa.putThumbnail`. Stores the header first, so that an interrupted call can be repeated. */
export async function writeThumbnail(
  context: TreeContext,
  entry: Entry,
  bytes: Uint8Array,
  { signal }: CallOptions = {},
): Promise<boolean> {
  const { engine, api } = context;
  const { fileId, record, path } = entry;
  const { header } = await openFile(context, fileId, { record, headOnly: true, signal });
  if (header.metadata.thumbnail !== undefined && (await readThumbnail(api, fileId, { signal }))) return false;
  const sealed = await sealThumbnail(engine, header, bytes);
  const thumbnail = (await engine.sha256(sealed)).toHex();
  await resealPaths(context, [{ entry, path, thumbnail }], { signal });
  return storeThumbnail(api, fileId, sealed, thumbnail, { signal });
}

/**
 * Sends the thumbnail of a file that was just uploaded with the thumbnail's digest in its header. Never fails: the upload is complete,
 * and an error, even an abort, would make the caller upload the file again. A client that lists the file later can add the thumbnail.
 */
export async function sendThumbnail(
  { engine, api }: TreeContext,
  fileId: string,
  sealed: Bytes,
  signal?: AbortSignal,
): Promise<void> {
  try {
    const digest = (await engine.sha256(sealed)).toHex();
    await storeThumbnail(api, fileId, sealed, digest, { signal });
  } catch {
    // The file is whole without it.
  }
}
