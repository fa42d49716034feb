/** API calls about files that need more than their route: paging, refused files, headers to decode. */
import {
  contentDigest,
  decodeEncParams,
  type FileRecord,
  headers as headerNames,
  limits,
  type NamesBody,
  type RouteAnswer,
  RuleError,
  type TrashedFile,
} from '@szafa/protocol';
import { type Api, type CallOptions, hasStatus } from '../call.ts';
import { TamperedError } from '../errors.ts';

/** The `enc_params` of a file, decoded and as base64 text. Replacing them requires the digest of that text. */
export interface EncParams {
  encParams: Record<string, unknown>;
  encParamsText: string;
}

/** Decodes the base64 of `enc_params`. */
export function decodeParams(encParamsText: string): EncParams {
  try {
    return { encParams: decodeEncParams(encParamsText), encParamsText };
  } catch (cause) {
    if (!(cause instanceof RuleError)) throw cause;
    throw new TamperedError('params', cause.message, { cause });
  }
}

interface PageOptions extends CallOptions {
  /** Include the `enc_params` of each file. */
  headers?: boolean | undefined;
  /** List only this directory; 0 is the root. */
  dirId?: number | undefined;
}

type ListRoute = 'listFiles' | 'listTrash';
type ListedFile<N extends ListRoute> = N extends 'listTrash' ? TrashedFile : FileRecord;

/** Yields pages of all files, newest first, or of the trash, latest first. */
export async function* filePages<N extends ListRoute>(
  api: Api,
  route: N,
  { headers, dirId, signal }: PageOptions = {},
): AsyncGenerator<ListedFile<N>[]> {
  const page = headers ? { limit: limits.headersPage, headers: 1 } : { limit: limits.listPage };
  const read = (cursor?: string): Promise<RouteAnswer<ListRoute>> =>
    api.call<ListRoute>(route, { query: { ...page, cursor, dir_id: dirId }, signal });
  let cursor: string | undefined;
  let coming: Promise<RouteAnswer<ListRoute>> | undefined = read();
  while (coming) {
    const { files, next_cursor: next }: RouteAnswer<ListRoute> = await coming;
    // Requests the next page early, so that the network and the caller work at the same time.
    coming = next === undefined || next === cursor ? undefined : read(next);
    coming?.catch(() => {}); // rejection is handled by the await in the next round
    cursor = next;
    yield files as ListedFile<N>[];
  }
}

/** Yields the files of `filePages` one by one. */
export async function* eachFile<N extends ListRoute>(
  api: Api,
  route: N,
  options?: PageOptions,
): AsyncGenerator<ListedFile<N>> {
  for await (const page of filePages(api, route, options)) yield* page;
}

/** Renames all of the files or none. Returns the ids of files that have changed since the caller read them. */
export async function renameFiles(
  api: Api,
  body: NamesBody,
  { signal }: CallOptions = {},
): Promise<string[]> {
  return refusedFiles(api.call('renameFiles', { body, signal }), 412);
}

/** Moves all of the files to the trash or back, or none. Returns the ids of files that the account does not have there. */
export async function trashFiles(
  api: Api,
  route: 'trashFiles' | 'restoreFiles',
  files: string[],
  { signal }: CallOptions = {},
): Promise<string[]> {
  return refusedFiles(api.call(route, { body: { files }, signal }), 404);
}

async function refusedFiles(call: Promise<unknown>, status: number): Promise<string[]> {
  try {
    await call;
    return [];
  } catch (error) {
    const files = hasStatus(error, status) ? error.body['files'] : undefined;
    const areIds = Array.isArray(files) && files.every((id) => typeof id === 'string');
    if (!areIds || files.length === 0) throw error;
    return files;
  }
}

/** Reads the header of a file in the trash. */
export async function readTrashed(
  api: Api,
  fileId: string,
  { signal }: CallOptions = {},
): Promise<EncParams> {
  const { enc_params } = await api.call('readTrashed', { params: { file_id: fileId }, signal });
  return decodeParams(enc_params);
}

/** Stores the thumbnail of a file. Returns false if the file has a different one; sending the same one again is fine. */
export async function storeThumbnail(
  api: Api,
  fileId: string,
  bytes: Uint8Array,
  sha256: string,
  { signal }: CallOptions = {},
): Promise<boolean> {
  const headers = { [headerNames.contentDigest]: contentDigest(sha256) };
  try {
    await api.call('writeThumbnail', { params: { file_id: fileId }, headers, bytes, signal });
    return true;
  } catch (error) {
    if (hasStatus(error, 409)) return false;
    throw error;
  }
}

/** Reads the sealed thumbnail of a file; undefined if there is none or the file is gone. */
export async function readThumbnail(
  api: Api,
  fileId: string,
  { signal }: CallOptions = {},
): Promise<Uint8Array | undefined> {
  try {
    return (await api.send('readThumbnail', { params: { file_id: fileId }, signal })).body;
  } catch (error) {
    if (hasStatus(error, 404)) return undefined;
    throw error;
  }
}
