/** Lists, accepts and deletes files that arrived through file requests. */
import {
  defined,
  fileIdIn,
  openDelivery,
  ownRequestKeys,
  type SharedFile,
  sealFileName,
  sealHeader,
  toBase64Url,
} from '@szafa/format';
import { deliveredBy, encodeEncParams, type FileRecord } from '@szafa/protocol';
import { readServerInfo } from '../accounts/calls.ts';
import { hasStatus } from '../call.ts';
import { ApiError, ConflictError, SzafaError, TamperedError } from '../errors.ts';
import { eachFile, readTrashed, renameFiles, trashFiles } from '../files/calls.ts';
import type { TreeContext, TreeOptions } from '../files/context.ts';
import { safeSegments } from '../files/display-names.ts';
import { joinPath } from '../files/paths.ts';
import { digestOf } from '../files/reseal-files.ts';
import { freePath } from '../files/tree.ts';
import { forEach } from '../pool.ts';
import type { VolumeAnswer } from '../transfers/calls.ts';
import { checkRecord, readHead } from '../transfers/download/open-file.ts';
import { listRequests } from './requests.ts';

/** A file that arrived through a request and was not accepted yet. Name, time and type are the visitor's claim. @public */
export interface Delivery {
  fileId: string;
  requestId: string;
  /** The last segment of the visitor's name, sanitised. */
  name: string;
  /** Bytes of the file; of its stored form if there is a problem. */
  size: number;
  mtime?: number;
  type?: string;
  createdAt: string;
  /** The folder of its request; undefined if the request is gone. */
  folder?: string;
  record: FileRecord;
  /** SHA-256 of the visitor's header, in hex; accepting the delivery replaces that header. Absent if the header could not be read. */
  sealed?: string;
  /** Why the delivery cannot be accepted. */
  problem?: SzafaError;
}

/** @public */
export interface TakeOverOptions extends TreeOptions {
  /** The target folder; the folder of its request by default. */
  folder?: string | undefined;
  /** Paths assigned since `tree` was read. Pass the same set to several calls with one tree; each call adds its path. */
  given?: Set<string> | undefined;
  /** The result of `Szafa.sealedIds`. Pass the same set to several calls; each call adds its id. */
  sealedIds?: Set<string> | undefined;
}

const PARALLEL = 8;
/** The `rev` of a delivery; the accepted file has the next one. */
const DELIVERED_REV = 1;
/** A media type of the longest allowed length (RFC 6838). */
const MEDIA_TYPE = /^[\x20-\x7e]{1,127}$/;

/** See `Szafa.deliveries`. */
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
  // These headers look accepted. Unless a visitor wrote such a header, the file was accepted since the list was read, and a new list has
  // it under another name.
  const still = new Set((await arrived()).map(({ file_id }) => file_id));
  return listed.filter(({ fileId }) => !doubtful.has(fileId) || still.has(fileId));
}

interface Arrived {
  record: FileRecord;
  requestId: string;
  serviceId: string;
}

/** Returns undefined if the delivery is gone. Adds its id to `doubtful` if its header looks like that of an accepted file. */
async function deliveryOf(
  context: TreeContext,
  arrived: Arrived,
  doubtful: Set<string>,
  signal: AbortSignal | undefined,
): Promise<Delivery | undefined> {
  const { record, requestId } = arrived;
  const { file_id: fileId, created_at: createdAt } = record;
  const facts: Omit<Delivery, 'name' | 'size'> = { fileId, requestId, createdAt, record };
  try {
    const head = await readHead(context.api, fileId, signal);
    facts.sealed = await digestOf(context, head);
    if ('szafa' in head.encParams) doubtful.add(fileId);
    const file = await openArrived(context, arrived, head, signal);
    file.fileKey.fill(0);
    return { ...facts, name: nameOf(file), size: file.layout.size, ...claimsOf(file) };
  } catch (error) {
    if (!(error instanceof SzafaError) || error.code === 'network') throw error;
    if (hasStatus(error, 404)) return undefined;
    // A delivery that the server fails to read must not hide the others. Any other refusal concerns the caller.
    if (error instanceof ApiError && error.kind !== 'server') throw error;
    return { ...facts, name: record.file_name, size: record.size, problem: error };
  }
}

/** Opens the visitor's header and compares it with the record. Returns the file key in the clear. */
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

/** Throws if this device has seen the file accepted: the server then returns an old header. */
async function requireNotTaken({ revs }: TreeContext, fileId: string): Promise<void> {
  const older = await revs?.check(fileId, DELIVERED_REV);
  if (older) throw older;
}

/** Converts a 404 to a ConflictError: another device has accepted or deleted the delivery. */
const orConflict =
  ({ name }: Delivery) =>
  (error: unknown): never => {
    throw hasStatus(error, 404) ? new ConflictError([name]) : error;
  };

/** Returns the header of a delivery. Throws a ConflictError if another device has accepted or deleted it. */
async function stillDelivered(
  context: TreeContext,
  delivery: Delivery,
  signal: AbortSignal | undefined,
): Promise<VolumeAnswer> {
  const { fileId, name, sealed } = delivery;
  const head = await readHead(context.api, fileId, signal).catch(orConflict(delivery));
  // Accepted files have this field in their headers. A visitor may have written it too, but then the header is unchanged since it was
  // listed.
  if ('szafa' in head.encParams && (await digestOf(context, head)) !== sealed)
    throw new ConflictError([name]);
  return head;
}

/** See `Szafa.sealedIds`. Does not open the headers. Finds nothing on a server that does not list headers. */
export async function listSealedIds({ api }: TreeContext, signal?: AbortSignal): Promise<Set<string>> {
  const ids = new Set<string>();
  for (const route of ['listFiles', 'listTrash'] as const) {
    for await (const { enc_params } of eachFile(api, route, { headers: true, signal })) {
      const id = enc_params === undefined ? undefined : fileIdIn(enc_params);
      if (id !== undefined) ids.add(id);
    }
  }
  return ids;
}

/** Returns a safe name without folders: visitors must not choose a folder, or characters that a terminal or a disk would misread. */
const nameOf = ({ name }: SharedFile): string => safeSegments(name).at(-1)!;

/** Returns the visitor's other claims. Drops a malformed type, and types of folders and other special files. */
function claimsOf({ mtime, type }: SharedFile): { mtime?: number; type?: string } {
  const isKept = type !== undefined && MEDIA_TYPE.test(type) && !type.startsWith('inode/');
  return defined({ mtime, type: isKept ? type : undefined });
}

/** See `Szafa.takeOver`. Appends a number to the name if the path is taken. */
export async function takeOver(
  context: TreeContext,
  delivery: Delivery,
  { signal, given, ...options }: TakeOverOptions = {},
): Promise<string> {
  const { api, engine, keys, directories, revs } = context;
  const folder = options.folder ?? delivery.folder;
  if (folder === undefined) throw new SzafaError('no-folder', 'its request is gone: choose a folder');
  const { fileId, requestId, record } = delivery;
  const head = await stillDelivered(context, delivery, signal);
  const { service_id: serviceId } = await readServerInfo(api, { signal });
  const file = await openArrived(context, { record, requestId, serviceId }, head, signal);
  const sealedId = toBase64Url(file.fileId);
  const sealedIds = options.sealedIds ?? (await listSealedIds(context, signal));
  // Visitors choose the id, and header keys derive from it, so two files must not have the same id.
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
    ...claimsOf(file),
    source: `request/${requestId}`,
    // The visitor has the file key.
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
    // If only the answer was lost, the server already has the new header.
    if (now.encParamsText !== renamed.enc_params) throw new ConflictError([delivery.name]);
  }
  given?.add(path);
  sealedIds.add(sealedId);
  await revs?.note(new Map([[fileId, metadata.rev]]));
  return path;
}

/** See `Szafa.dropDelivery`. */
export async function dropDelivery(
  context: TreeContext,
  delivery: Delivery,
  signal?: AbortSignal,
): Promise<void> {
  const { api } = context;
  const { fileId, name } = delivery;
  const seen = await stillDelivered(context, delivery, signal);
  await requireNotTaken(context, fileId);
  // Moves the file to the trash first, where no device can accept it. If a device accepted it just before, the file is restored.
  if ((await trashFiles(api, 'trashFiles', [fileId], { signal })).length > 0) throw new ConflictError([name]);
  const there = await readTrashed(api, fileId, { signal }).catch(orConflict(delivery));
  if (there.encParamsText !== seen.encParamsText) {
    await trashFiles(api, 'restoreFiles', [fileId], { signal });
    throw new ConflictError([name]);
  }
  await api.call('emptyTrash', { body: { files: [fileId] }, signal });
}
