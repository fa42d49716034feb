/** Small pictures of files, sealed beside them; the header says which one is the file's own. */
import type { CallOptions } from '../api/api.ts';
import { openFile } from '../download/remote-file.ts';
import { SzafaError, TamperedError } from '../errors.ts';
import type { Bytes } from '../format/bytes.ts';
import { openThumbnail, sealThumbnail } from '../format/thumbnail.ts';
import type { Entry } from '../listing.ts';
import type { TreeContext } from './context.ts';
import { resealPaths } from './reseal-paths.ts';

/** Undefined where the file has none. */
export async function readThumbnail(
  context: TreeContext,
  { fileId, record }: Entry,
  { signal }: CallOptions = {},
): Promise<Bytes | undefined> {
  const { engine, api } = context;
  const { header } = await openFile(context, fileId, { record, headOnly: true, signal });
  const { thumbnail } = header.metadata;
  if (thumbnail === undefined) return undefined;
  const sealed = (await api.readThumbnail(fileId, { signal })) as Bytes | undefined;
  if (!sealed) return undefined;
  const own = (await engine.sha256(sealed)).toHex() === thumbnail;
  const bytes = own ? await openThumbnail(engine, header, sealed) : undefined;
  if (!bytes) throw new TamperedError('thumbnail', 'the thumbnail is not that of this file');
  return bytes;
}

/** For a file that has none; false where the service has another one already. The header is first: whoever is cut off can do it again. */
export async function writeThumbnail(
  context: TreeContext,
  entry: Entry,
  bytes: Uint8Array,
  { signal }: CallOptions = {},
): Promise<boolean> {
  const { engine, api } = context;
  const { fileId, record, path } = entry;
  const { header } = await openFile(context, fileId, { record, headOnly: true, signal });
  if (header.metadata.thumbnail !== undefined && (await api.readThumbnail(fileId, { signal }))) return false;
  const sealed = await sealThumbnail(engine, header, bytes);
  const thumbnail = (await engine.sha256(sealed)).toHex();
  await resealPaths(context, [{ entry, path, thumbnail }], { signal });
  return api.writeThumbnail(fileId, sealed, thumbnail, { signal });
}

/** Of a file that was just uploaded, whose header names it. The file is there: without its picture it is still whole. */
export async function sendThumbnail(
  { engine, api }: TreeContext,
  fileId: string,
  sealed: Bytes,
  signal?: AbortSignal,
): Promise<void> {
  const digest = (await engine.sha256(sealed)).toHex();
  try {
    await api.writeThumbnail(fileId, sealed, digest, { signal });
  } catch (error) {
    if (!(error instanceof SzafaError)) throw error;
  }
}
