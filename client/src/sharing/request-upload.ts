/** Uploads of visitors through the link of a file request. */
import {
  type Bytes,
  DEFAULT_VOLUME_SIZE,
  type Engine,
  labels,
  layoutOf,
  newSecrets,
  type RequestName,
  roundVolumeSize,
  sealDelivery,
  storedSize,
  toBase64Url,
  totalSha256,
  utf8,
} from '@szafa/format';
import { type CompleteBody, deliveryName, limits } from '@szafa/protocol';
import { Api, type ApiOptions, hasStatus, linkHeaders } from '../call.ts';
import { FileChangedError } from '../errors.ts';
import { cancelTransfer, completeTransfer } from '../transfers/calls.ts';
import { sizesOf } from '../transfers/upload/description.ts';
import { type Journal, journalKey, type UploadState, uploadLog } from '../transfers/upload/journal.ts';
import { waitForLock } from '../transfers/upload/locks.ts';
import type { VolumeMemory } from '../transfers/upload/memory.ts';
import type { UploadOptions } from '../transfers/upload/options.ts';
import { createSender } from '../transfers/upload/sender.ts';
import {
  finishUpload,
  newTransfer,
  resumeUpload,
  type Transfer,
  type UploadSession,
} from '../transfers/upload/session.ts';
import type { Source } from '../transfers/upload/source.ts';
import { VolumeSupply } from '../transfers/upload/supply.ts';
import { storedBytes } from '../transfers/upload/unfinished.ts';

type SharedOptions = 'mtime' | 'type' | 'volumeSize' | 'parallel' | 'journal' | 'signal' | 'onProgress';

/** @public */
export interface DeliveryOptions extends Pick<UploadOptions, SharedOptions> {
  /** The name that the owner sees; only its last segment is kept. */
  name: string;
  /** Called before waiting for another process that uploads the same file through the same link. */
  onWait?: (() => void) | undefined;
}

/** @public */
export interface DeliveryResult {
  /** Number of volumes that the server had from an earlier attempt. */
  resumed: number;
  /** Bytes of the source that were stored. */
  size: number;
  /** Whether the source has grown since. */
  grown: boolean;
}

export interface RequestContext {
  api: Api;
  apiOptions: Omit<ApiOptions, 'server' | 'token'>;
  engine: Engine;
  memory: VolumeMemory;
  request: RequestName;
  publicKey: Bytes;
  psk: Bytes;
  /** Proves to the server that the visitor has the link. */
  access: string;
  /** Converts the server's refusal to an error that names the reason. */
  over(error: unknown): Promise<unknown>;
}

/** Returns the layout of a visitor's file. Its volumes have a minimum size, since servers refuse small volumes from visitors. */
export const visitorsLayout = (size: number, wish: number = DEFAULT_VOLUME_SIZE) =>
  layoutOf(size, Math.max(roundVolumeSize(wish), limits.requestVolumeBytes));

/** Identifies an unfinished upload in the journal. @public */
export interface UnfinishedDelivery {
  /** `place` of the source. */
  place?: string | undefined;
  name: string;
}

export const deliveryKey = (
  engine: Engine,
  { server, id }: { server: string; id: string },
  { place = '', name }: UnfinishedDelivery,
) => journalKey(engine, ['delivery', server, id, place, name]);

async function openLog(context: RequestContext, journal: Journal, wanted: UnfinishedDelivery) {
  const { engine, request, api, psk } = context;
  const { place = '', name: path } = wanted;
  const key = await deliveryKey(engine, { server: api.server, id: request.id }, wanted);
  return { key, log: uploadLog(journal, key, engine, [psk], { place, path }) };
}

type Secrets = Pick<UploadState, 'fileKey' | 'fileId'>;

/** Derives the token of an upload from its file key, so that the journal need not store it. */
async function tokenOf(engine: Engine, { fileKey, fileId }: Secrets): Promise<string> {
  return toBase64Url(await engine.hkdf(fileKey, fileId, utf8(labels.uploadToken), 32));
}

/** Whether the upload was removed or completed, or its request has ended or is full. */
const isGone = (error: unknown) => hasStatus(error, 401, 404, 409, 410);
/** Whether the server refused to create the upload; it sends these statuses only if the upload does not exist. */
const isRefused = (error: unknown) => hasStatus(error, 400, 413, 507);
/** Whether the upload no longer counts against the request, and never will. */
const isOver = ({ transferId }: Pick<UploadState, 'transferId'>, error: unknown) =>
  isGone(error) || (transferId === '' && isRefused(error));

/** Creates the transfer of an upload. Returns its id, also if the transfer already exists. */
async function begin(
  { engine, api, request, access }: RequestContext,
  { layout, ...secrets }: Secrets & Pick<UploadState, 'layout'>,
  signal: AbortSignal | undefined,
): Promise<string> {
  const chunks = sizesOf(layout);
  const body = { upload_token: await tokenOf(engine, secrets), chunk_count: chunks.length, chunks };
  const visit = { params: { request_id: request.id }, headers: linkHeaders(access) };
  return (await api.call('beginUpload', { ...visit, body, signal })).transfer_id;
}

/** Loads an unfinished upload, and an Api with the token of that upload. */
async function loadUnfinished(context: RequestContext, journal: Journal, wanted: UnfinishedDelivery) {
  const { engine, api, apiOptions } = context;
  const { log } = await openLog(context, journal, wanted);
  const logged = await log.load({ mend: false });
  if (!logged) return { log };
  const token = await tokenOf(engine, logged.state);
  return { log, found: { logged, api: new Api({ ...apiOptions, server: api.server, token }) } };
}

/** Returns how many bytes of an unfinished upload the server has. */
export async function storedOf(
  context: RequestContext,
  journal: Journal,
  wanted: UnfinishedDelivery,
  signal?: AbortSignal,
): Promise<number> {
  const { found } = await loadUnfinished(context, journal, wanted);
  if (!found?.logged.state.transferId) return 0;
  return (await storedBytes(found.api, found.logged, signal, isGone)) ?? 0;
}

/** Cancels an unfinished upload on the server, then removes it from the journal. Until then it counts against the request. */
export async function cancelDelivery(
  context: RequestContext,
  journal: Journal,
  wanted: UnfinishedDelivery,
  signal?: AbortSignal,
): Promise<void> {
  const { log, found } = await loadUnfinished(context, journal, wanted);
  try {
    if (found) {
      const { state } = found.logged;
      await cancelTransfer(found.api, state.transferId || (await begin(context, state, signal)), { signal });
    }
  } catch (error) {
    if (!isOver(found!.logged.state, error)) throw error;
  }
  // Removed last: without the entry, a failed cancellation could not be repeated.
  await log.end();
}

/** Seals a file for the owner of a request and uploads it. */
export async function uploadToRequest(
  context: RequestContext,
  source: Source,
  options: DeliveryOptions,
): Promise<DeliveryResult> {
  source.begin?.();
  const { engine, memory, apiOptions } = context;
  const { name, signal, onWait } = options;
  const { identity = '', place = '' } = source;
  const journal = source.identity === undefined ? undefined : options.journal;
  const entry = journal && (await openLog(context, journal, { place, name }));
  const log = entry?.log;
  // The token of this upload is set below.
  const api = new Api({ ...apiOptions, server: context.api.server });

  const session: UploadSession<object> = {
    ...{ api, engine, memory, source, log, signal },
    sender: createSender(api, options, source.size),
    declares: false,
    isNewest: () => true,
    async reconnect(state) {
      api.token = await tokenOf(engine, state);
      if (state.transferId !== '') return;
      state.transferId = await begin(context, state, signal);
      await log!.begin(state);
    },
    isGone: (error, state) => isOver(state, error),
    isFinal: (error) => error instanceof FileChangedError,
    async complete(transfer) {
      const { supply, transferId } = transfer;
      if (!transfer.description) {
        const total = (await totalSha256(engine, supply.digests)).toHex();
        transfer.description = await describe(context, options, supply, total);
        // A repeated `complete`, even by another process, must send the same description.
        await log?.complete(transfer.description, 0);
      }
      return completeTransfer(api, transferId, transfer.description, { signal });
    },
  };

  const start = async (): Promise<Transfer> => {
    const layout = visitorsLayout(source.size, options.volumeSize);
    const secrets = newSecrets(engine);
    const supply = new VolumeSupply({ engine, source, layout, secrets });
    // Fails if the file cannot be described, before any volume is sent.
    await describe(context, options, supply, '0'.repeat(64));
    const state = { transferId: '', path: name, place, ...secrets, identity, layout };
    // Written before the server counts the upload: after an interruption, nobody could resume or cancel it otherwise.
    await log?.begin(state);
    const transferId = await begin(context, state, signal).catch(async (error) => {
      if (isOver(state, error)) await log?.end();
      throw await context.over(error);
    });
    api.token = await tokenOf(engine, secrets);
    await log?.begin({ ...state, transferId });
    return newTransfer(transferId, supply);
  };

  const locks = journal?.locks;
  // Two processes that upload with one journal would mistake each other's volumes for their own.
  if (locks) await waitForLock(locks, entry!.key, { signal, onWait });
  try {
    const transfer = (await resumeUpload(session)) ?? (await start());
    const { resumed, size, grown } = await finishUpload(session, transfer).catch(async (error) => {
      throw hasStatus(error, 401) ? await context.over(error) : error;
    });
    return { resumed, size, grown };
  } finally {
    await locks?.release([entry!.key]);
  }
}

async function describe(
  { engine, request, publicKey, psk }: RequestContext,
  { name, mtime, type }: DeliveryOptions,
  { secrets, layout }: VolumeSupply,
  total: string,
): Promise<CompleteBody> {
  const file = {
    ...secrets,
    ...{ name: name.toWellFormed(), layout, totalSha256: total },
    ...(mtime !== undefined && { mtime: Math.round(mtime) }),
    ...(type !== undefined && { type }),
  };
  const sealed = await sealDelivery(engine, request, { publicKey, psk }, file);
  return {
    file_name: deliveryName(request.id),
    file_size: storedSize(layout),
    total_sha256: total,
    chunk_count: layout.count,
    enc_params: { ...sealed },
  };
}
