/** API calls about volumes and transfers that need more than their route. */
import {
  type CompleteBody,
  contentDigest,
  headers as headerNames,
  type ReceivedVolume,
} from '@szafa/protocol';
import {
  type Api,
  type ByteRange,
  type CallOptions,
  hasStatus,
  isUnknownRoute,
  type VolumeOptions,
} from '../call.ts';
import { UnexpectedAnswerError } from '../errors.ts';
import { decodeParams, type EncParams } from '../files/calls.ts';
import type { TransportResponse } from '../http/transport.ts';

/** A volume, or the requested range of it. */
export interface VolumeBytes {
  chunkCount: number;
  /** Whether `body` is the requested range. False if the server does not support ranges and returned the whole volume. */
  isRange: boolean;
  body: Uint8Array;
}

/** A volume with the header of its file. @public */
export interface VolumeAnswer extends VolumeBytes, EncParams {}

interface ReadOptions extends VolumeOptions {
  range?: ByteRange | undefined;
}

/** Reads one volume of at most `maxBytes`, or a range of it. */
export async function readVolume(
  api: Api,
  fileId: string,
  idx: number,
  maxBytes: number,
  options?: ReadOptions,
): Promise<VolumeAnswer> {
  const params = { file_id: fileId, idx };
  return volumeOf(api, await api.send('readVolume', { params, maxBytes, ...options }));
}

/** Reads the headers of a volume without its bytes. */
export async function readVolumeHeaders(
  api: Api,
  fileId: string,
  idx: number,
  options?: CallOptions,
): Promise<VolumeAnswer> {
  return volumeOf(api, await api.send('readHeader', { params: { file_id: fileId, idx }, ...options }));
}

/** Reads volumes and digests of a file in the caller's account. */
export const volumeReader = (api: Api, fileId: string) => ({
  readVolume: (idx: number, maxBytes: number, options?: ReadOptions) =>
    readVolume(api, fileId, idx, maxBytes, options),
  readDigests: async () => (await api.send('readDigests', { params: { file_id: fileId } })).body,
});

function volumeOf(api: Api, response: TransportResponse): VolumeAnswer {
  const params = response.header(headerNames.encParams);
  if (params === undefined || response.header(headerNames.chunkCount) === undefined) {
    throw api.unexpected(response, 'a volume without its headers');
  }
  return { ...decodeParams(params), ...bytesOf(response) };
}

function bytesOf(response: TransportResponse): VolumeBytes {
  const chunkCount = Number(response.header(headerNames.chunkCount) ?? Number.NaN);
  return { chunkCount, isRange: response.status === 206, body: response.body };
}

/**
 * Reads volumes and digests of a shared file.
 * @param file its number in the share, from 1, and the ticket that grants access
 */
export function sharedVolumeReader(api: Api, file: { id: string; number: number; ticket: string }) {
  const params = { share_id: file.id, number: file.number };
  const headers = { [headerNames.shareTicket]: file.ticket };
  return {
    readVolume: async (idx: number, maxBytes: number, options?: ReadOptions) => {
      const request = { params: { ...params, idx }, headers, maxBytes, ...options };
      return bytesOf(await api.send('readSharedVolume', request));
    },
    readDigests: async () => (await api.send('readSharedDigests', { params, headers })).body,
  };
}

/** Sends one volume. A streamed transfer requires its digest, `sha256` in hex. */
export async function writeVolume(
  api: Api,
  transferId: string,
  idx: number,
  bytes: Uint8Array,
  { sha256, ...options }: VolumeOptions & { sha256?: string | undefined } = {},
): Promise<void> {
  const headers = { [headerNames.contentDigest]: sha256 && contentDigest(sha256) };
  await api.call('writeVolume', { params: { transfer_id: transferId, idx }, headers, bytes, ...options });
}

const readReceived = (api: Api, transferId: string, { signal }: CallOptions = {}) =>
  api.call('received', { params: { transfer_id: transferId }, signal });

/** Returns the numbers of the volumes that the server has received. */
export const receivedNumbers = async (api: Api, transferId: string, options?: CallOptions) =>
  (await readReceived(api, transferId, options)).received;

/** Returns the volumes of a streamed transfer that the server has received, with their digests. */
export async function receivedVolumes(
  api: Api,
  transferId: string,
  options?: CallOptions,
): Promise<ReceivedVolume[]> {
  const { volumes } = await readReceived(api, transferId, options);
  if (volumes) return volumes;
  throw new UnexpectedAnswerError(api.server, 200, 'volumes without digests');
}

/** Connections to servers without the route `writeFile`. */
const withoutWriteFile = new WeakSet<Api>();

/**
 * Uploads a file of one volume in one request, under an id chosen by the caller. `init` is the value of X-Init. Returns undefined if the
 * server lacks the route.
 */
export async function writeFile(
  api: Api,
  transferId: string,
  init: string,
  bytes: Uint8Array,
  options?: VolumeOptions,
): Promise<{ file_id: string } | undefined> {
  if (withoutWriteFile.has(api)) return undefined;
  const headers = { [headerNames.init]: init };
  try {
    return await api.call('writeFile', { params: { transfer_id: transferId }, headers, bytes, ...options });
  } catch (error) {
    if (!isUnknownRoute(error)) throw error;
    withoutWriteFile.add(api);
    return undefined;
  }
}

/**
 * Turns a transfer into a file. A streamed transfer needs `body`, the description of the file. If volumes are missing, returns the
 * numbers of those that the server has.
 */
export async function completeTransfer(
  api: Api,
  transferId: string,
  body?: CompleteBody,
  { signal }: CallOptions = {},
): Promise<{ file_id: string } | { received: number[] }> {
  try {
    const params = { transfer_id: transferId };
    return await api.call('complete', { params, ...(body && { body }), signal });
  } catch (error) {
    if (!(hasStatus(error, 409) && error.body['status'] === 'incomplete')) throw error;
    const { received } = error.body;
    return { received: Array.isArray(received) ? received.filter(Number.isSafeInteger) : [] };
  }
}

/** Cancels a transfer. Ignores a transfer that is gone, is already complete, or belongs to another token. */
export async function cancelTransfer(api: Api, transferId: string, { signal }: CallOptions): Promise<void> {
  try {
    await api.call('cancel', { params: { transfer_id: transferId }, signal });
  } catch (error) {
    if (!hasStatus(error, 403, 404, 409)) throw error;
  }
}
