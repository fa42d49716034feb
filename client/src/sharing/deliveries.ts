/** What came to an account by its requests: list it, take it over, or drop it. */

import {
  fileIdIn,
  openDelivery,
  ownRequestKeys,
  type SharedFile,
  sealFileName,
  sealHeader,
  toBase64Url,
  utf8,
} from '@szafa/format';
import { deliveredBy, encodeEncParams, type FileRecord } from '@szafa/protocol';
import { readServerInfo } from '../accounts/calls.ts';
import { ApiError, ConflictError, SzafaError, TamperedError } from '../errors.ts';
import { eachFile, filePages, readTrashed, renameFiles, trashFiles } from '../files/calls.ts';
import type { TreeContext, TreeOptions } from '../files/context.ts';
import { safeSegments } from '../files/display-names.ts';
import { joinPath } from '../files/paths.ts';
import { freePath } from '../files/tree.ts';
import { forEach } from '../pool.ts';
import type { VolumeAnswer } from '../transfers/calls.ts';
import { checkRecord, readHead } from '../transfers/download/open-file.ts';
import { listRequests } from './requests.ts';

/** A file that came by a request and was not taken over yet. What is said of it is the visitor's word. @public */
export interface Delivery {
  fileId: string;
  requestId: string;
  /** The last part of what the visitor called it, cleaned. */
  name: string;
  /** Bytes of the file; of its stored form where there is a problem. */
  size: number;
  mtime?: number;
  type?: string;
  createdAt: string;
  /** Where its request wants it; undefined where nobody knows the request any more. */
  folder?: string;
  /** As it was listed. */
  record: FileRecord;
  /** SHA-256, in hex, of what the visitor sealed: who takes it over puts something else there. Absent where the service did not give it. */
  sealed?: string;
  /** It cannot be taken over. */
  problem?: SzafaError;
}

/** @public */
export interface TakeOverOptions extends TreeOptions {
  /** Where it goes, in place of the folder of its request. */
  folder?: string | undefined;
  /** For whoever takes several over with one tree: paths that were given since it was listed; this one's is added. */
  given?: Set<string> | undefined;
  /** Likewise: the sealed file ids that the account has, of `Szafa.sealedIds`; this one's is added. */
  sealedIds?: Set<string> | undefined;
}

const PARALLEL = 8;
/** What counts as the `rev` of a delivery: the file that it becomes has the next one. */
const DELIVERED_REV = 1;
/** As long as media types are (RFC 6838). */
const MEDIA_TYPE = /^[\x20-\x7e]{1,127}$/;

/** What came and was not taken over, the latest first. */
export async function listDeliveries(context: TreeContext, signal?: AbortSignal): Promise<Delivery[]> {
  const { api } = context;
  const arrived = async () =>
    (await Array.fromAsync(eachFile(api, 'listFiles', { dirId: 0, signal }))).filter(
      ({ file_name }) => deliveredBy(file_name) !== undefined,
    );
  const records = await arrived();
  if (records.length === 0) return [];
  const folders = new Map((await listRequests(context, signal)).map((one) => [one.id, one]));
  const { service_id: serviceId } = await readServerInfo(api, { signal });
  const deliveries: (Delivery | undefined)[] = [];
  const doubtful = new Set<string>();
  await forEach(records.entries(), PARALLEL, async ([at, record]) => {
    const requestId = deliveredBy(record.file_name)!;
    const request = folders.get(requestId);
    const known = request && !request.problem ? { folder: request.folder } : {};
    const delivery = await deliveryOf(context, { record, requestId, serviceId }, doubtful, signal);
    deliveries[at] = delivery && { ...delivery, ...known };
  });
  const listed = deliveries.filter((delivery) => delivery !== undefined);
  if (doubtful.size === 0) return listed;
  // Taken over since it was listed; or a visitor wrote that, whose file can never have another name than the service's.
  const still = new Set((await arrived()).map(({ file_id }) => file_id));
  return listed.filter(({ fileId }) => !doubtful.has(fileId) || still.has(fileId));
}

interface Arrived {
  record: FileRecord;
  requestId: string;
  serviceId: string;
}

/** Undefined where it was taken over, or dropped, since it was listed; `doubtful` gets the ids of those with the header of an owner's own file. */
async function deliveryOf(
  context: TreeContext,
  arrived: Arrived,
  doubtful: Set<string>,
  signal: AbortSignal | undefined,
): Promise<Delivery | undefined> {
  const { record, requestId } = arrived;
  const { file_id: fileId, created_at: createdAt } = record;
  const facts: Pick<Delivery, 'fileId' | 'requestId' | 'createdAt' | 'record' | 'sealed'> = {
    ...{ fileId, requestId, createdAt, record },
  };
  try {
    const head = await readHead(context.api, fileId, signal);
    facts.sealed = await digestOf(context, head);
    if ('szafa' in head.encParams) doubtful.add(fileId);
    const file = await openArrived(context, arrived, head, signal);
    file.fileKey.fill(0);
    return { ...facts, name: nameOf(file), size: file.layout.size, ...saidOf(file) };
  } catch (error) {
    if (!(error instanceof SzafaError) || error.code === 'network') throw error;
    if (error instanceof ApiError && error.status === 404) return undefined;
    // One that the service cannot read does not hide the others; but whatever else it says is about the caller.
    if (error instanceof ApiError && error.kind !== 'server') throw error;
    return { ...facts, name: record.file_name, size: record.size, problem: error };
  }
}

/** What the visitor sealed, checked against the record. Its key is in the clear. */
async function openArrived(
  context: TreeContext,
  { record, requestId: id, serviceId }: Arrived,
  { encParams }: VolumeAnswer,
  signal: AbortSignal | undefined,
): Promise<SharedFile> {
  const { engine, keys } = context;
  await requireNotTaken(context, record.file_id);
  let refused: unknown;
  for (const master of await keys.allMasters(signal)) {
    try {
      const own = await ownRequestKeys(engine, master.key, id);
      const file = await openDelivery(engine, { serviceId, id }, own, encParams);
      checkRecord(record, file);
      return file;
    } catch (error) {
      refused ??= error;
    }
  }
  throw refused;
}

/** What was taken over once is the owner's own, whatever the service shows in its place. */
async function requireNotTaken({ revs }: TreeContext, fileId: string): Promise<void> {
  const older = await revs?.check(fileId, DELIVERED_REV);
  if (older) throw older;
}

const digestOf = async ({ engine }: TreeContext, { encParamsText }: VolumeAnswer) =>
  (await engine.sha256(utf8(encParamsText))).toHex();

/** Another device has taken it over, or deleted it, where it is not there any more. */
function orConflict({ name }: Delivery): (error: unknown) => never {
  return (error) => {
    throw error instanceof ApiError && error.status === 404 ? new ConflictError([name]) : error;
  };
}

/** Its head, if it still is a delivery: another device may have taken it over, or deleted it, since it was listed. */
async function stillDelivered(
  context: TreeContext,
  delivery: Delivery,
  signal: AbortSignal | undefined,
): Promise<VolumeAnswer> {
  const { fileId, name, sealed } = delivery;
  const head = await readHead(context.api, fileId, signal).catch(orConflict(delivery));
  // As an owner's own header has it; but a visitor may have written it, as it was listed.
  if ('szafa' in head.encParams && (await digestOf(context, head)) !== sealed)
    throw new ConflictError([name]);
  return head;
}

/**
 * The file ids in the headers of all files, in the trash too: as the service shows them, for nothing of it is opened. A service that gives
 * no headers in lists has none to compare.
 */
export async function listSealedIds({ api }: TreeContext, signal?: AbortSignal): Promise<Set<string>> {
  const ids = new Set<string>();
  for (const pages of [
    filePages(api, 'listFiles', { headers: true, signal }),
    filePages(api, 'listTrash', { headers: true, signal }),
  ]) {
    for await (const page of pages) {
      for (const { enc_params } of page) {
        const id = enc_params === undefined ? undefined : fileIdIn(enc_params);
        if (id !== undefined) ids.add(id);
      }
    }
  }
  return ids;
}

/** A visitor chooses no folder, and nothing that a terminal or a disk would take for something else. */
const nameOf = ({ name }: SharedFile): string => safeSegments(name).at(-1)!;

/** The rest of what is kept of a visitor's words. A type that no program would write, or that says what is no file, is not. */
function saidOf({ mtime, type }: SharedFile): { mtime?: number; type?: string } {
  const isKept = type !== undefined && MEDIA_TYPE.test(type) && !type.startsWith('inode/');
  return { ...(mtime !== undefined && { mtime }), ...(isKept && { type }) };
}

/**
 * Makes a file of one's own of it: a header, a path and a name under the owner's keys. What is at that path already stays the file that
 * it is, and this one gets a number behind its name. The path.
 */
export async function takeOver(
  context: TreeContext,
  delivery: Delivery,
  { signal, given, ...options }: TakeOverOptions = {},
): Promise<string> {
  const { api, engine, keys, directories, revs } = context;
  const folder = options.folder ?? delivery.folder;
  if (folder === undefined) throw new SzafaError('no-folder', 'its request is gone: say where it goes');
  const { fileId, requestId, record } = delivery;
  const head = await stillDelivered(context, delivery, signal);
  const { service_id: serviceId } = await readServerInfo(api, { signal });
  const file = await openArrived(context, { record, requestId, serviceId }, head, signal);
  const sealedId = toBase64Url(file.fileId);
  const sealedIds = options.sealedIds ?? (await listSealedIds(context, signal));
  // Visitors choose it, and the keys of a header come from it: two files must not have the same.
  if (sealedIds.has(sealedId))
    throw new TamperedError('delivery', 'this account already has a file with the id that the visitor chose');
  const tree = options.tree ?? (await context.tree({ signal }));
  const taken = { has: (path: string) => tree.has(path) || given?.has(path) === true };
  const path = freePath(taken, joinPath(folder, nameOf(file)));
  const dirId = await directories.ensureFor(path, { signal });
  const master = await keys.current(signal);
  const { layout, totalSha256 } = file;
  const metadata = {
    ...{ name: path, size: layout.size, rev: DELIVERED_REV + 1, gen: 1, added: Date.now() },
    ...(layout.padded !== layout.size && { padded: layout.padded }),
    ...saidOf(file),
    source: `request/${requestId}`,
    // The visitor who sealed it has the key.
    shared: true as const,
  };
  const binding = { totalSha256, storedSize: record.size, count: record.chunk_count };
  const renamed = {
    file_id: fileId,
    dir_id: dirId,
    match: await digestOf(context, head),
    file_name: await sealFileName(engine, master.key, metadata, binding),
    enc_params: encodeEncParams(await sealHeader(engine, { ...file, master, metadata })),
  };
  file.fileKey.fill(0);
  const changed = await renameFiles(api, { files: [renamed] }, { signal });
  if (changed.length > 0) {
    const now = await readHead(api, fileId, signal).catch(orConflict(delivery));
    // Unless an answer was lost.
    if (now.encParamsText !== renamed.enc_params) throw new ConflictError([delivery.name]);
  }
  given?.add(path);
  sealedIds.add(sealedId);
  await revs?.note(new Map([[fileId, metadata.rev]]));
  return path;
}

/** Deletes, for good, what came by a request and is not wanted. */
export async function dropDelivery(
  context: TreeContext,
  delivery: Delivery,
  signal?: AbortSignal,
): Promise<void> {
  const { api } = context;
  const { fileId, name } = delivery;
  const seen = await stillDelivered(context, delivery, signal);
  await requireNotTaken(context, fileId);
  // By way of the trash, where nobody takes it over any more: what is the owner's own by then goes back.
  if ((await trashFiles(api, 'trashFiles', [fileId], { signal })).length > 0) throw new ConflictError([name]);
  const there = await readTrashed(api, fileId, { signal }).catch(orConflict(delivery));
  if (there.encParamsText !== seen.encParamsText) {
    await trashFiles(api, 'restoreFiles', [fileId], { signal });
    throw new ConflictError([name]);
  }
  (await api.call('emptyTrash', { body: { files: [fileId] }, signal })).removed;
}
