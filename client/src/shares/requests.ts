/** Requests of an account: make them, see them, end them, and take over what was delivered. */
import {
  deliveredBy,
  type Ending,
  encodeEncParams,
  type FileRecord,
  type ListedRequest,
} from '@szafa/protocol';
import type { CallOptions } from '../api/api.ts';
import { checkRecord, readHead } from '../download/remote-file.ts';
import { ConflictError, SzafaError, TamperedError } from '../errors.ts';
import { type Bytes, fromBase64Url, toBase64Url, utf8 } from '../format/bytes.ts';
import { sealHeader } from '../format/header.ts';
import { layoutOf, storedSize } from '../format/layout.ts';
import { sealFileName } from '../format/names.ts';
import { epochOfOwn, openOwn, sealOwn } from '../format/own-share.ts';
import {
  openDelivery,
  ownRequestKeys,
  parseRequestKey,
  type RequestKey,
  requestAccess,
  requestKeyText,
  sealRequest,
} from '../format/request.ts';
import type { SharedFile } from '../format/share-content.ts';
import { forEach } from '../pool.ts';
import { safeSegments } from '../text.ts';
import type { TreeContext, TreeOptions } from '../tree/context.ts';
import { checkPath, joinPath } from '../tree/paths.ts';
import { freePath } from '../tree/tree.ts';
import { requestText } from './address.ts';

/** @public */
export interface RequestOptions extends CallOptions {
  /** Where it goes when it is taken over, from the top; '' is the top. */
  folder: string;
  /** For those who upload. */
  note?: string | undefined;
  expiresAt?: Date | undefined;
  /** How many may come. */
  files: number;
  /** Bytes that may come, of all together. */
  size: number;
}

/** @public */
export interface FileRequest {
  id: string;
  /** What is sent to others: whoever has it may upload. */
  link: string;
}

/** A request as its owner sees it. @public */
export interface OwnRequest {
  id: string;
  /** Absent where there is a problem. */
  link?: string;
  folder: string;
  note?: string;
  createdAt: string;
  expiresAt: string | null;
  files: number;
  bytes: number;
  delivered: number;
  deliveredBytes: number;
  uploading: number;
  /** Why nobody uploads by it any more. */
  ended: Ending | null;
  /** What the service keeps beside it is not what its owner put there. */
  problem?: SzafaError;
}

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
  /** It cannot be taken over. */
  problem?: SzafaError;
}

interface OwnJson {
  kind: 'request';
  key: string;
  folder: string;
  note?: string;
}

const ID_BYTES = 16;
const PARALLEL = 8;
/** What each file has beyond its bytes, rounded up: the heads of its volumes. */
const EACH = 1024;

export async function makeRequest(
  { api, engine, keys }: TreeContext,
  { folder, note, expiresAt, files, size, signal }: RequestOptions,
): Promise<FileRequest> {
  if (folder !== '') checkPath(folder);
  const id = toBase64Url(engine.random(ID_BYTES));
  const master = await keys.current(signal);
  const { header, key } = await sealRequest(engine, await ownRequestKeys(engine, master.key, id), note);
  const access = utf8(toBase64Url(await requestAccess(engine, key)));
  const own: OwnJson = {
    kind: 'request',
    key: requestKeyText(key),
    folder,
    ...(note !== undefined && { note }),
  };
  await api.createRequest(
    {
      id,
      header: toBase64Url(header),
      access: (await engine.sha256(access)).toHex(),
      own: toBase64Url(await sealOwn(engine, master, id, own)),
      expires_at: expiresAt?.toISOString() ?? null,
      max_files: files,
      max_bytes: storedSize(layoutOf(size)) + files * EACH,
    },
    { signal },
  );
  return { id, link: requestText({ server: api.server, id, key }) };
}

export async function listRequests(context: TreeContext, signal?: AbortSignal): Promise<OwnRequest[]> {
  const requests: OwnRequest[] = [];
  for (const one of await context.api.requests({ signal }))
    requests.push(await ownRequest(context, one, signal));
  return requests;
}

async function ownRequest(
  context: TreeContext,
  request: ListedRequest,
  signal: AbortSignal | undefined,
): Promise<OwnRequest> {
  const { id, created_at: createdAt, expires_at: expiresAt, max_files: files, max_bytes: bytes } = request;
  const { delivered, delivered_bytes: deliveredBytes, uploading, ended } = request;
  const facts = { id, createdAt, expiresAt, files, bytes, delivered, deliveredBytes, uploading, ended };
  try {
    const { key, folder, note } = await openOwnRequest(context, request, signal);
    const link = requestText({ server: context.api.server, id, key });
    return { ...facts, link, folder, ...(note !== undefined && { note }) };
  } catch (error) {
    if (!(error instanceof SzafaError) || error.code === 'network') throw error;
    return { ...facts, folder: '', problem: error };
  }
}

async function openOwnRequest(
  { engine, keys }: TreeContext,
  { id, own }: Pick<ListedRequest, 'id' | 'own'>,
  signal: AbortSignal | undefined,
): Promise<{ key: RequestKey; folder: string; note?: string }> {
  let sealed: Bytes;
  try {
    sealed = fromBase64Url(own);
  } catch (cause) {
    throw new TamperedError('share', 'what the server keeps beside this request is damaged', { cause });
  }
  const master = await keys.master(epochOfOwn(sealed), signal);
  const json = (await openOwn(engine, master, id, sealed)) as Partial<OwnJson>;
  const key = typeof json.key === 'string' ? parseRequestKey(json.key) : undefined;
  if (json.kind !== 'request' || !key || typeof json.folder !== 'string')
    throw new SzafaError('unsupported', 'a newer szafa made this request');
  return { key, folder: json.folder, ...(typeof json.note === 'string' && { note: json.note }) };
}

/** What came and was not taken over, the latest first. */
export async function listDeliveries(context: TreeContext, signal?: AbortSignal): Promise<Delivery[]> {
  const { api } = context;
  const records = (await Array.fromAsync(api.files({ dirId: 0, signal }))).filter(
    ({ file_name }) => deliveredBy(file_name) !== undefined,
  );
  if (records.length === 0) return [];
  const folders = new Map((await listRequests(context, signal)).map((one) => [one.id, one]));
  const { service_id: serviceId } = await api.service({ signal });
  const deliveries: Delivery[] = [];
  await forEach(records.entries(), PARALLEL, async ([at, record]) => {
    const requestId = deliveredBy(record.file_name)!;
    const request = folders.get(requestId);
    const known = request && !request.problem ? { folder: request.folder } : {};
    deliveries[at] = { ...(await deliveryOf(context, { record, requestId, serviceId }, signal)), ...known };
  });
  return deliveries;
}

interface Arrived {
  record: FileRecord;
  requestId: string;
  serviceId: string;
}

async function deliveryOf(
  context: TreeContext,
  arrived: Arrived,
  signal: AbortSignal | undefined,
): Promise<Delivery> {
  const { record, requestId } = arrived;
  const { file_id: fileId, created_at: createdAt } = record;
  const facts = { fileId, requestId, createdAt };
  try {
    const { file } = await openArrived(context, arrived, signal);
    file.fileKey.fill(0);
    const { mtime, type, layout } = file;
    const said = { ...(mtime !== undefined && { mtime }), ...(type !== undefined && { type }) };
    return { ...facts, name: nameOf(file), size: layout.size, ...said };
  } catch (error) {
    if (!(error instanceof SzafaError) || error.code === 'network') throw error;
    return { ...facts, name: record.file_name, size: record.size, problem: error };
  }
}

/** What the visitor sealed, checked against the record. Its key is in the clear. */
async function openArrived(
  { api, engine, keys }: TreeContext,
  { record, requestId: id, serviceId }: Arrived,
  signal: AbortSignal | undefined,
): Promise<{ file: SharedFile; replaced: string }> {
  const { encParams, encParamsText } = await readHead(api, record.file_id, signal);
  let refused: unknown;
  for (const master of await keys.masters(signal)) {
    try {
      const own = await ownRequestKeys(engine, master.key, id);
      const file = await openDelivery(engine, { serviceId, id }, own, encParams);
      checkRecord(record, file);
      return { file, replaced: encParamsText };
    } catch (error) {
      refused ??= error;
    }
  }
  throw refused;
}

/** A visitor chooses no folder, and nothing that a terminal or a disk would take for something else. */
const nameOf = ({ name }: SharedFile): string => safeSegments(name).at(-1)!;

/**
 * Makes a file of one's own of it: a header, a path and a name under the owner's keys. What is at that path already stays the file that
 * it is, and this one gets a number behind its name. The path.
 */
export async function takeOver(
  context: TreeContext,
  delivery: Delivery,
  { signal, ...options }: TreeOptions & { folder?: string | undefined } = {},
): Promise<string> {
  const { api, engine, keys, places } = context;
  const folder = options.folder ?? delivery.folder;
  if (folder === undefined) throw new SzafaError('no-folder', 'its request is gone: say where it goes');
  const { fileId, requestId } = delivery;
  const records = await Array.fromAsync(api.files({ dirId: 0, signal }));
  const record = records.find(({ file_id }) => file_id === fileId);
  if (!record || deliveredBy(record.file_name) !== requestId) throw new ConflictError([delivery.name]);
  const { service_id: serviceId } = await api.service({ signal });
  const { file, replaced } = await openArrived(context, { record, requestId, serviceId }, signal);
  const path = freePath(options.tree ?? (await context.tree({ signal })), joinPath(folder, nameOf(file)));
  const dirId = await places.of(path, { signal });
  const master = await keys.current(signal);
  const { layout, totalSha256, mtime, type } = file;
  const metadata = {
    ...{ name: path, size: layout.size, rev: 1, gen: 1, added: Date.now() },
    ...(layout.padded !== layout.size && { padded: layout.padded }),
    ...(mtime !== undefined && { mtime }),
    // A folder is nothing that somebody else makes.
    ...(type !== undefined && type !== 'inode/directory' && { type }),
    source: `request/${requestId}`,
  };
  const binding = { totalSha256, storedSize: record.size, count: record.chunk_count };
  const renamed = {
    file_id: fileId,
    dir_id: dirId,
    match: (await engine.sha256(utf8(replaced))).toHex(),
    file_name: await sealFileName(engine, master.key, metadata, binding),
    enc_params: encodeEncParams(await sealHeader(engine, { ...file, master, metadata })),
  };
  file.fileKey.fill(0);
  const changed = await api.renameFiles({ files: [renamed] }, { signal });
  if (changed.length > 0 && (await readHead(api, fileId, signal)).encParamsText !== renamed.enc_params)
    throw new ConflictError([delivery.name]);
  return path;
}
