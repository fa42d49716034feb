/**
 * Gives records other paths: header and name are sealed anew, with a higher `rev`, and take the place of the old ones on the service, a
 * thousand in one transaction. Volumes and file keys stay.
 */

import { type Metadata, parseHeader, resealHeader, sealFileName, utf8 } from '@szafa/format';
import { encodeEncParams, limits, type NamesBody } from '@szafa/protocol';
import { ApiError, ConflictError, NameError, SzafaError } from '../errors.ts';
import { forEach } from '../pool.ts';
import { checkRecord, readHead } from '../transfers/download/open-file.ts';
import { hadName, nameKind, wrongNameError } from '../transfers/download/record-name.ts';
import { eachFile, renameFiles } from './calls.ts';
import type { TreeContext, TreeOptions } from './context.ts';
import { plainNameOf } from './display-names.ts';
import type { Entry } from './listing.ts';
import { belowFirst, firstOf, joinPath } from './paths.ts';
import type { Resealing } from './plan.ts';

type Renamed = NamesBody['files'][number];

interface Sealed {
  renamed: Renamed;
  entry: Entry;
  rev: number;
  /** Its name is shown, and no header says that it is there: perhaps another device has moved it. */
  doubtful?: boolean;
}

const PARALLEL = 8;

/** All of a batch, or none: one that is not as it was seen is a ConflictError. Batches before it have been done then. */
export async function resealPaths(
  context: TreeContext,
  changes: readonly Resealing[],
  { signal, onProgress }: TreeOptions = {},
): Promise<void> {
  for (let at = 0; at < changes.length; at += limits.filesPerBatch) {
    const batch = changes.slice(at, at + limits.filesPerBatch);
    const sealed: Sealed[] = [];
    await forEach(batch, PARALLEL, async (change) => {
      signal?.throwIfAborted();
      sealed.push(await resealOne(context, change, signal));
    });
    await checkPlaces(
      context,
      sealed.filter(({ doubtful }) => doubtful),
      signal,
    );
    await send(context, sealed, signal);
    await context.revs?.note(new Map(sealed.map(({ entry, rev }) => [entry.fileId, rev])));
    onProgress?.(at + batch.length, changes.length);
  }
}

async function resealOne(
  context: TreeContext,
  { entry, path, gen, thumbnail, attributes }: Resealing,
  signal: AbortSignal | undefined,
): Promise<Sealed> {
  const { api, engine, keys, directories } = context;
  const { record, fileId } = entry;
  if (entry.problem) throw entry.problem;
  const dirId = await directories.ensureFor(path, { signal });
  const head = await readHead(api, fileId, signal).catch((error: unknown) => {
    throw error instanceof ApiError && error.status === 404 ? new ConflictError([entry.path]) : error;
  });
  const renamed = {
    file_id: fileId,
    dir_id: dirId,
    match: (await engine.sha256(utf8(head.encParamsText))).toHex(),
  };
  if (!('szafa' in head.encParams)) {
    const file_name = foreignName(path, dirId);
    const enc_params = head.encParamsText;
    return { renamed: { ...renamed, file_name, enc_params }, entry, rev: 1, doubtful: true };
  }
  const parsed = parseHeader(head.encParams);
  const master = await keys.master(parsed.epoch, signal);
  const change = (metadata: Metadata) => ({
    name: path,
    ...(gen !== undefined && { gen }),
    ...(thumbnail !== undefined && { thumbnail }),
    ...attributes?.(metadata),
  });
  const current = await keys.current(signal);
  const header = await resealHeader(engine, parsed, master, current, change);
  checkRecord(record, header.before);
  const now = await nameKind(context, record, header.before);
  const kind = now === 'other' && (await hadName(context, record, header.before)) ? 'sealed' : now;
  if (kind === 'other') {
    // Sealed by the owner, and later than what was seen: another device was faster.
    if (header.before.metadata.rev > (entry.age?.rev ?? 0)) throw new ConflictError([entry.path]);
    throw wrongNameError();
  }
  const binding = { totalSha256: record.sha256, storedSize: record.size, count: record.chunk_count };
  const file_name =
    kind === 'sealed'
      ? await sealFileName(engine, current.key, header.metadata, binding)
      : shownName(path, dirId);
  return {
    renamed: { ...renamed, file_name, enc_params: encodeEncParams(header.encParams) },
    entry,
    rev: header.metadata.rev,
    doubtful: kind === 'plain' && !isInPlace(entry, header.before.metadata),
  };
}

/** Whether a file whose name is shown was listed where its header has it. */
function isInPlace({ path }: Entry, { name }: { name: string }): boolean {
  return path === plainNameOf(name) || path === joinPath(firstOf(name), plainNameOf(belowFirst(name)) ?? '');
}

/** Where the service has them now: those of a directory that was removed are at the top, and no device has moved them. */
async function checkPlaces(
  { api }: TreeContext,
  doubtful: Sealed[],
  signal: AbortSignal | undefined,
): Promise<void> {
  if (doubtful.length === 0) return;
  const now = new Map(
    await Array.fromAsync(eachFile(api, 'listFiles', { signal }), (record) => [record.file_id, record]),
  );
  const moved = doubtful.filter(({ entry: { fileId, dirId, record } }) => {
    const there = now.get(fileId);
    return there?.dir_id !== dirId || there.file_name !== record.file_name;
  });
  if (moved.length > 0) throw new ConflictError(moved.map(({ entry }) => entry.path));
}

/** What the service shows of a name that its owner does not hide. */
function shownName(path: string, dirId: number | null): string {
  const name = plainNameOf(dirId ? belowFirst(path) : path);
  if (name === undefined) throw new NameError('nothing of this name can be shown');
  return name;
}

/** A file of another client has no path but its directory and its name. */
function foreignName(path: string, dirId: number | null): string {
  const name = dirId ? belowFirst(path) : path;
  if (plainNameOf(name) !== name) {
    throw new NameError(
      'a file of another client can only be at the top, or in a folder there, under a plain name',
    );
  }
  return name;
}

async function send({ api }: TreeContext, sealed: Sealed[], signal: AbortSignal | undefined): Promise<void> {
  const files = sealed.map(({ renamed }) => renamed);
  const changed = await renameFiles(api, { files }, { signal }).catch((error: unknown) => {
    // The directory that they go to was there a moment ago.
    const isGone = error instanceof ApiError && error.kind === 'forbidden';
    throw isGone ? new ConflictError(sealed.map(({ entry }) => entry.path)) : error;
  });
  if (changed.length === 0) return;
  // An answer that was lost looks the same: then the new names are there.
  const others = await notDone(api, sealed, signal);
  if (others.length > 0) throw new ConflictError(others.map(({ entry }) => entry.path));
}

async function notDone(
  api: TreeContext['api'],
  sealed: Sealed[],
  signal: AbortSignal | undefined,
): Promise<Sealed[]> {
  const others: Sealed[] = [];
  await forEach(sealed, PARALLEL, async (one) => {
    const { file_id, enc_params } = one.renamed;
    try {
      const { encParamsText } = await readHead(api, file_id, signal);
      if (encParamsText !== enc_params) others.push(one);
    } catch (error) {
      if (!(error instanceof SzafaError) || error.code === 'network') throw error;
      others.push(one);
    }
  });
  return others;
}
