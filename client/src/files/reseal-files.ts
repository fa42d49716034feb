/** Reseals headers and names of files and replaces them on the server. Volumes and file keys stay the same. */
import {
  type Bytes,
  defined,
  type Master,
  type Metadata,
  type MetadataChange,
  type ParsedHeader,
  parseHeader,
  resealHeader,
  sealFileName,
  utf8,
} from '@szafa/format';
import { encodeEncParams, type FileRecord, limits, type NamesBody } from '@szafa/protocol';
import { hasStatus } from '../call.ts';
import { ApiError, ConflictError, NameError, SzafaError } from '../errors.ts';
import { forEach } from '../pool.ts';
import type { OpenContext } from '../transfers/download/context.ts';
import { checkRecord, readHead, requireRev } from '../transfers/download/open-file.ts';
import { hadName, nameKind, wrongNameError } from '../transfers/download/record-name.ts';
import { type EncParams, eachFile, readTrashed, renameFiles } from './calls.ts';
import type { TreeContext, TreeOptions } from './context.ts';
import { plainNameOf } from './display-names.ts';
import { bindingOf, type Entry } from './listing.ts';
import { belowFirst, firstOf, joinPath } from './paths.ts';
import type { Resealing } from './plan.ts';

/** A file on the server, in the trash or not. */
export interface StoredFile {
  record: FileRecord;
  inTrash: boolean;
}

type Renamed = NamesBody['files'][number];

/** A resealed file, to be stored on the server. */
export interface ResealedFile extends Pick<StoredFile, 'inTrash'> {
  renamed: Renamed;
  /** `rev` of the new name. */
  rev: number;
}

const PARALLEL = 8;

/** Lists all files. Reads the trash before and after the others, so that a file moved in the meantime is in one of the lists. */
export async function allFiles(
  { api }: OpenContext,
  signal?: AbortSignal,
  isWanted: (record: FileRecord) => boolean = () => true,
): Promise<StoredFile[]> {
  const found = new Map<string, StoredFile>();
  for (const route of ['listTrash', 'listFiles', 'listTrash'] as const) {
    for await (const record of eachFile(api, route, { signal })) {
      if (isWanted(record)) found.set(record.file_id, { record, inTrash: route === 'listTrash' });
    }
  }
  return [...found.values()];
}

/** Fetches the header of a file, whether in the trash or not. */
export const readStoredHeader = (
  { api }: OpenContext,
  { record, inTrash }: StoredFile,
  signal?: AbortSignal,
): Promise<EncParams> =>
  inTrash ? readTrashed(api, record.file_id, { signal }) : readHead(api, record.file_id, signal);

/** A header, with the keys to open and reseal it. */
export interface HeaderKeys {
  parsed: ParsedHeader;
  /** Opens the header. */
  master: Bytes;
  /** Seals the new header. */
  current: Master;
  change?: ((metadata: Metadata) => MetadataChange) | undefined;
}

/**
 * Reseals the header and the name of a file; a plain name stays.
 * @param before the header as it was read
 * @returns the header's `rev` if header and record have different names: another device may have renamed the file
 * @throws TamperedError if header and record belong to different files, or a later `rev` was seen
 */
export async function resealFile(
  context: OpenContext,
  { record, inTrash }: StoredFile,
  before: EncParams,
  { parsed, master, current, change }: HeaderKeys,
): Promise<ResealedFile | { otherRev: number }> {
  const { engine } = context;
  const header = await resealHeader(engine, parsed, master, current, change);
  checkRecord(record, header.before);
  // Sealed again, an earlier name would be as new as the one that was seen.
  await requireRev(context, record.file_id, header.before);
  const kind = await nameKind(context, record, header.before, master);
  if (kind === 'other') return { otherRev: header.before.metadata.rev };
  const name = kind === 'plain' ? record.file_name : undefined;
  const renamed = {
    file_id: record.file_id,
    file_name: name ?? (await sealFileName(engine, current.key, header.metadata, bindingOf(record))),
    enc_params: encodeEncParams(header.encParams),
    match: await digestOf(context, before),
  };
  return { renamed, inTrash, rev: header.metadata.rev };
}

/** Returns the digest by which the server recognises the header to be replaced. */
export const digestOf = async ({ engine }: Pick<OpenContext, 'engine'>, { encParamsText }: EncParams) =>
  (await engine.sha256(utf8(encParamsText))).toHex();

/** Stores resealed files. Returns the ids of files that have changed since they were read; all others are stored. */
export async function storeResealed(
  { api, revs }: OpenContext,
  sealed: ResealedFile[],
  signal?: AbortSignal,
): Promise<Set<string>> {
  const refused = new Set<string>();
  for (const inTrash of [false, true]) {
    let left = sealed.filter((one) => one.inTrash === inTrash).map(({ renamed }) => renamed);
    while (left.length > 0) {
      const body = { files: left, ...(inTrash && { in_trash: true }) };
      const changed = new Set(await renameFiles(api, body, { signal }));
      if (changed.size === 0) break;
      const rest = left.filter(({ file_id }) => !changed.has(file_id));
      // If the server names no file of this request, count all as refused: repeating the request would loop forever.
      const isNamed = rest.length < left.length;
      for (const { file_id } of left) if (!isNamed || changed.has(file_id)) refused.add(file_id);
      left = isNamed ? rest : [];
    }
  }
  const stored = sealed.filter(({ renamed }) => !refused.has(renamed.file_id));
  await revs?.note(new Map(stored.map(({ renamed, rev }) => [renamed.file_id, rev])));
  return refused;
}

interface MovedFile {
  renamed: Renamed;
  entry: Entry;
  rev: number;
  /** The plain name could not be checked against a header, so another device may have moved the file. */
  doubtful?: boolean;
}

/**
 * Changes paths or attributes of records, up to a thousand in one transaction.
 * @throws ConflictError if a record has changed since it was listed. Its batch is not stored, but earlier batches are
 */
export async function resealPaths(
  context: TreeContext,
  changes: readonly Resealing[],
  { signal, onProgress }: TreeOptions = {},
): Promise<void> {
  for (let at = 0; at < changes.length; at += limits.filesPerBatch) {
    const batch = changes.slice(at, at + limits.filesPerBatch);
    const moved: MovedFile[] = [];
    await forEach(batch, PARALLEL, async (change) => {
      signal?.throwIfAborted();
      moved.push(await resealPath(context, change, signal));
    });
    await requireUnmoved(
      context,
      moved.filter(({ doubtful }) => doubtful),
      signal,
    );
    await storeMoved(context, moved, signal);
    await context.revs?.note(new Map(moved.map(({ entry, rev }) => [entry.fileId, rev])));
    onProgress?.(at + batch.length, changes.length);
  }
}

async function resealPath(
  context: TreeContext,
  { entry, path, gen, thumbnail, attributes }: Resealing,
  signal: AbortSignal | undefined,
): Promise<MovedFile> {
  const { api, engine, keys, directories } = context;
  const { record, fileId } = entry;
  if (entry.problem) throw entry.problem;
  const dirId = await directories.ensureFor(path, { signal });
  const head = await readHead(api, fileId, signal).catch((error: unknown) => {
    throw hasStatus(error, 404) ? new ConflictError([entry.path]) : error;
  });
  const renamed = { file_id: fileId, dir_id: dirId, match: await digestOf(context, head) };
  const shownPath = dirId ? belowFirst(path) : path;
  if (!('szafa' in head.encParams)) {
    // A file of another client has only its directory and name as a path.
    if (plainNameOf(shownPath) !== shownPath) {
      const message =
        'a file of another client can only be at the root, or in a folder there, under a plain name';
      throw new NameError(message);
    }
    const names = { file_name: shownPath, enc_params: head.encParamsText };
    return { renamed: { ...renamed, ...names }, entry, rev: 1, doubtful: true };
  }
  const parsed = parseHeader(head.encParams);
  const master = await keys.master(parsed.epoch, signal);
  const change = (metadata: Metadata) => ({
    name: path,
    ...defined({ gen, thumbnail }),
    ...attributes?.(metadata),
  });
  const current = await keys.current(signal);
  const header = await resealHeader(engine, parsed, master, current, change);
  checkRecord(record, header.before);
  const now = await nameKind(context, record, header.before);
  const kind = now === 'other' && (await hadName(context, record, header.before)) ? 'sealed' : now;
  if (kind === 'other') {
    // The owner sealed this header after the list was read: another device was faster.
    if (header.before.metadata.rev > (entry.age?.rev ?? 0)) throw new ConflictError([entry.path]);
    throw wrongNameError();
  }
  const file_name =
    kind === 'sealed'
      ? await sealFileName(engine, current.key, header.metadata, bindingOf(record))
      : plainNameOf(shownPath);
  if (file_name === undefined) throw new NameError('nothing of this name can be shown');
  return {
    renamed: { ...renamed, file_name, enc_params: encodeEncParams(header.encParams) },
    entry,
    rev: header.metadata.rev,
    doubtful: kind === 'plain' && !isInPlace(entry, header.before.metadata),
  };
}

/** Whether a file with a plain name was listed at the path that its header names. */
function isInPlace({ path }: Entry, { name }: { name: string }): boolean {
  return path === plainNameOf(name) || path === joinPath(firstOf(name), plainNameOf(belowFirst(name)) ?? '');
}

/** Throws a ConflictError if a file is no longer where it was listed. */
async function requireUnmoved({ api }: TreeContext, files: MovedFile[], signal?: AbortSignal): Promise<void> {
  if (files.length === 0) return;
  const now = new Map(
    await Array.fromAsync(eachFile(api, 'listFiles', { signal }), (record) => [record.file_id, record]),
  );
  const moved = files.filter(({ entry: { fileId, dirId, record } }) => {
    const there = now.get(fileId);
    return there?.dir_id !== dirId || there.file_name !== record.file_name;
  });
  if (moved.length > 0) throw new ConflictError(moved.map(({ entry }) => entry.path));
}

async function storeMoved({ api }: TreeContext, moved: MovedFile[], signal?: AbortSignal): Promise<void> {
  const files = moved.map(({ renamed }) => renamed);
  const changed = await renameFiles(api, { files }, { signal }).catch((error: unknown) => {
    // 403 means that another device has removed the target directory.
    const isGone = error instanceof ApiError && error.kind === 'forbidden';
    throw isGone ? new ConflictError(moved.map(({ entry }) => entry.path)) : error;
  });
  if (changed.length === 0) return;
  // A repeated request after a lost answer is refused too, but then the server already has the new headers.
  const others: string[] = [];
  await forEach(moved, PARALLEL, async ({ renamed, entry }) => {
    try {
      const { encParamsText } = await readHead(api, renamed.file_id, signal);
      if (encParamsText !== renamed.enc_params) others.push(entry.path);
    } catch (error) {
      if (!(error instanceof SzafaError) || error.code === 'network') throw error;
      others.push(entry.path);
    }
  });
  if (others.length > 0) throw new ConflictError(others);
}
