/** Requests of an account: make them, see them, end them, and take over what was delivered. */
import {
  type Bytes,
  epochOfShareRecord,
  fromBase64Url,
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
import { ApiError, SzafaError, TamperedError } from '../errors.ts';
import type { TreeContext } from '../files/context.ts';
import { checkPath } from '../files/paths.ts';
import { requestText } from './address.ts';
import { newShareId } from './links.ts';

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
  /** Absent where there is a problem, and of one that is over and under a retired master key. */
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

interface OwnJson {
  kind: 'request';
  key: string;
  folder: string;
  note?: string;
}

/** What each file has beyond its bytes, rounded up: the heads of its volumes. */
const EACH = 1024;

export async function makeRequest(
  { api, engine, keys }: TreeContext,
  { folder, note, expiresAt, files, size, signal }: RequestOptions,
): Promise<FileRequest> {
  if (folder !== '') checkPath(folder);
  const id = newShareId({ engine });
  const master = await keys.current(signal);
  const { header, key } = await sealRequest(engine, await ownRequestKeys(engine, master.key, id), note);
  const access = utf8(toBase64Url(await requestAccess(engine, key)));
  const own: OwnJson = {
    kind: 'request',
    key: requestKeyText(key),
    folder,
    ...(note !== undefined && { note }),
  };
  await api.call('createRequest', {
    body: {
      id,
      header: toBase64Url(header),
      access: (await engine.sha256(access)).toHex(),
      own: toBase64Url(await sealShareRecord(engine, master, id, own)),
      expires_at: expiresAt?.toISOString() ?? null,
      max_files: files,
      max_bytes: storedSize(layoutOf(size)) + files * EACH,
    },
    signal,
  });
  return { id, link: requestText({ server: api.server, id, key }) };
}

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
    return { ...facts, ...(link !== undefined && { link }), folder, ...(note !== undefined && { note }) };
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
  let sealed: Bytes;
  try {
    sealed = fromBase64Url(own);
  } catch (cause) {
    throw new TamperedError('share', 'what the server keeps beside this request is damaged', { cause });
  }
  const epoch = epochOfShareRecord(sealed);
  // Only the folder of an ended request counts: somebody with a retired key could name one, but no link is given away.
  const retired = ended !== null && epoch < (await keys.floor(signal));
  const masters = retired ? await keys.allMasters(signal) : [];
  const master = masters.find((one) => one.epoch === epoch)?.key ?? (await keys.master(epoch, signal));
  const json = (await openShareRecord(engine, master, id, sealed)) as Partial<OwnJson>;
  const key = typeof json.key === 'string' ? parseRequestKey(json.key) : undefined;
  if (json.kind !== 'request' || !key || typeof json.folder !== 'string')
    throw new SzafaError('unsupported', 'a newer szafa made this request');
  return {
    ...(!retired && { key }),
    folder: json.folder,
    ...(typeof json.note === 'string' && { note: json.note }),
  };
}
