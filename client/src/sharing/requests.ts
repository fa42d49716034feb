/** File requests of an account: links through which others upload into a folder. */
import {
  bytesOf,
  defined,
  epochOfShareRecord,
  layoutOf,
  openShareRecord,
  ownRequestKeys,
  parseRequestKey,
  type RequestKey,
  requestAccess,
  requestKeyText,
  sealRequest,
  sealShareRecord,
  storedSize,
  toBase64Url,
  utf8,
} from '@szafa/format';
import type { Ending, ListedRequest } from '@szafa/protocol';
import type { CallOptions } from '../call.ts';
import { ApiError, SzafaError } from '../errors.ts';
import type { TreeContext } from '../files/context.ts';
import { checkPath } from '../files/paths.ts';
import { requestText } from './address.ts';
import { newShareId } from './links.ts';

/** @public */
export interface RequestOptions extends CallOptions {
  /** Target folder of accepted files; '' is the root. */
  folder: string;
  /** A message to visitors. */
  note?: string | undefined;
  expiresAt?: Date | undefined;
  /** Maximum number of files. */
  files: number;
  /** Maximum size of all files in bytes. */
  size: number;
}

/** @public */
export interface FileRequest {
  id: string;
  /** Anyone who has the link can upload. */
  link: string;
}

/** A request as its owner sees it. @public */
export interface OwnRequest extends Pick<ListedRequest, 'id' | 'delivered' | 'uploading'> {
  /** Absent if there is a problem, or if the request has ended and is under a retired master key. */
  link?: string;
  folder: string;
  note?: string;
  createdAt: string;
  expiresAt: string | null;
  files: number;
  bytes: number;
  deliveredBytes: number;
  /** Why visitors can no longer upload. */
  ended: Ending | null;
  /** Why the owner's record of the request cannot be used. */
  problem?: SzafaError;
}

/** The owner's record of a request. */
interface RequestRecord {
  kind: 'request';
  key: string;
  folder: string;
  note?: string;
}

/** Allowance per file for the heads of its volumes, rounded up. */
const HEADS_BYTES = 1024;

/** See `Szafa.requestLink`. */
export async function makeRequest(
  { api, engine, keys }: TreeContext,
  { folder, note, expiresAt, files, size, signal }: RequestOptions,
): Promise<FileRequest> {
  if (folder !== '') checkPath(folder);
  const id = newShareId({ engine });
  const master = await keys.current(signal);
  const { header, key } = await sealRequest(engine, await ownRequestKeys(engine, master.key, id), note);
  const access = utf8(toBase64Url(await requestAccess(engine, key)));
  const record: RequestRecord = { kind: 'request', key: requestKeyText(key), folder, ...defined({ note }) };
  await api.call('createRequest', {
    body: {
      id,
      header: toBase64Url(header),
      access: (await engine.sha256(access)).toHex(),
      own: toBase64Url(await sealShareRecord(engine, master, id, record)),
      expires_at: expiresAt?.toISOString() ?? null,
      max_files: files,
      max_bytes: storedSize(layoutOf(size)) + files * HEADS_BYTES,
    },
    signal,
  });
  return { id, link: requestText({ server: api.server, id, key }) };
}

/** See `Szafa.requests`. */
export async function listRequests(context: TreeContext, signal?: AbortSignal): Promise<OwnRequest[]> {
  const requests: OwnRequest[] = [];
  for (const one of (await context.api.call('listRequests', { signal })).requests)
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
    const link = key && requestText({ server: context.api.server, id, key });
    return { ...facts, ...defined({ link, folder, note }) };
  } catch (error) {
    if (!(error instanceof SzafaError) || error instanceof ApiError || error.code === 'network') throw error;
    return { ...facts, folder: '', problem: error };
  }
}

export async function openOwnRequest(
  { engine, keys }: Pick<TreeContext, 'engine' | 'keys'>,
  { id, own, ended }: Pick<ListedRequest, 'id' | 'own' | 'ended'>,
  signal?: AbortSignal,
): Promise<{ key?: RequestKey; folder: string; note?: string }> {
  const sealed = bytesOf(own, 'share', "the server's record of this request");
  const epoch = epochOfShareRecord(sealed);
  // For an ended request, only the folder matters. Someone with a retired key could have written the record, so no link is shown.
  const retired = ended !== null && epoch < (await keys.floor(signal));
  const masters = retired ? await keys.allMasters(signal) : [];
  const master = masters.find((one) => one.epoch === epoch)?.key ?? (await keys.master(epoch, signal));
  const record = (await openShareRecord(engine, master, id, sealed)) as Partial<RequestRecord>;
  const key = typeof record.key === 'string' ? parseRequestKey(record.key) : undefined;
  const { kind, folder } = record;
  if (kind !== 'request' || !key || typeof folder !== 'string')
    throw new SzafaError('unsupported', 'a newer szafa made this request');
  const note = typeof record.note === 'string' ? record.note : undefined;
  return { folder, ...defined({ key: retired ? undefined : key, note }) };
}
