/** The upload of one file through the link of a request. */
import {
  type Bytes,
  DEFAULT_VOLUME_SIZE,
  type Engine,
  extentOf,
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
import { Api, type ApiOptions, linkHeaders } from '../call.ts';
import { ApiError, FileChangedError } from '../errors.ts';
import { cancelTransfer, completeTransfer, receivedVolumes } from '../transfers/calls.ts';
import { sizesOf } from '../transfers/upload/description.ts';
import {
  type Journal,
  journalKey,
  type Remembered,
  UploadLog,
  type UploadState,
} from '../transfers/upload/journal.ts';
import { waitForLock } from '../transfers/upload/locks.ts';
import type { VolumeMemory } from '../transfers/upload/memory.ts';
import type { UploadProgress } from '../transfers/upload/options.ts';
import { Sender } from '../transfers/upload/sender.ts';
import { recallTransfer, sendAndComplete, type Transfer } from '../transfers/upload/session.ts';
import type { Source } from '../transfers/upload/source.ts';
import { VolumeSupply } from '../transfers/upload/supply.ts';

/** @public */
export interface DeliveryOptions {
  /** What the owner sees; only its last part is kept. */
  name: string;
  /** Milliseconds since 1970. */
  mtime?: number | undefined;
  /** Media type. */
  type?: string | undefined;
  volumeSize?: number | undefined;
  /** Volumes on their way at once, at most. */
  parallel?: number | undefined;
  /** Goes on with what an earlier call with the same journal left unfinished. */
  journal?: Journal | undefined;
  signal?: AbortSignal | undefined;
  /** Another process uploads the same file by the same link, and is waited for. */
  onWait?: (() => void) | undefined;
  onProgress?: ((progress: UploadProgress) => void) | undefined;
}

/** @public */
export interface DeliveryResult {
  /** Volumes that the service had from an earlier attempt. */
  resumed: number;
  /** Bytes of the source that were stored. */
  size: number;
  /** The source has become longer than that since. */
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
  /** What the service wants to see of the link. */
  access: string;
  /** What the service says of the link now, as an error. */
  over(error: unknown): Promise<unknown>;
}

/** As for any file; but a service takes no small volumes of visitors. */
export const visitorsLayout = (size: number, wish: number = DEFAULT_VOLUME_SIZE) =>
  layoutOf(size, Math.max(roundVolumeSize(wish), limits.requestVolumeBytes));

/** What finds an unfinished upload in the journal. @public */
export interface UnfinishedDelivery {
  /** Source.place */
  place?: string | undefined;
  name: string;
}

export const deliveryKey = (
  engine: Engine,
  { server, id }: { server: string; id: string },
  { place = '', name }: UnfinishedDelivery,
) => journalKey(engine, ['delivery', server, id, place, name]);

async function logOf(
  { engine, request, api, psk }: RequestContext,
  journal: Journal,
  wanted: UnfinishedDelivery,
): Promise<UploadLog> {
  const key = await deliveryKey(engine, { server: api.server, id: request.id }, wanted);
  return new UploadLog(journal, key, engine, [psk], { place: wanted.place ?? '', path: wanted.name });
}

async function tokenOf(
  engine: Engine,
  { fileKey, fileId }: Record<'fileKey' | 'fileId', Bytes>,
): Promise<string> {
  return toBase64Url(await engine.hkdf(fileKey, fileId, utf8(labels.uploadToken), 32));
}

/** Cleared away meanwhile, complete, or with its request at an end or full: there is nothing left to go on with. */
const isGone = (error: unknown) => error instanceof ApiError && [401, 404, 409, 410].includes(error.status);
/** The service looks for an upload that has begun before it says so: there is none. */
const isRefused = (error: unknown) => error instanceof ApiError && [400, 413, 507].includes(error.status);
/** Nothing of it counts at the service, and nothing ever will. */
const isOver = ({ transferId }: Pick<UploadState, 'transferId'>, error: unknown) =>
  isGone(error) || (transferId === '' && isRefused(error));

/** The transfer of an upload; the service begins it only if it has not, so whoever does not know whether it has asks again. */
async function begin(
  { engine, api, request, access }: RequestContext,
  { layout, ...secrets }: Pick<UploadState, 'layout' | 'fileKey' | 'fileId'>,
  signal: AbortSignal | undefined,
): Promise<string> {
  const chunks = sizesOf(layout);
  const body = { upload_token: await tokenOf(engine, secrets), chunk_count: chunks.length, chunks };
  const visit = { params: { request_id: request.id }, headers: linkHeaders(access) };
  return (await api.call('beginUpload', { ...visit, body, signal })).transfer_id;
}

/** An unfinished upload by the journal, with what speaks for it to the service. */
async function unfinished(context: RequestContext, journal: Journal, wanted: UnfinishedDelivery) {
  const { engine, api, apiOptions } = context;
  const log = await logOf(context, journal, wanted);
  const remembered = await log.load({ mend: false });
  if (!remembered) return { log };
  const token = await tokenOf(engine, remembered.state);
  return { log, found: { remembered, api: new Api({ ...apiOptions, server: api.server, token }) } };
}

/** Bytes of an unfinished upload that the service has; 0 where there is none. */
export async function storedOf(
  context: RequestContext,
  journal: Journal,
  wanted: UnfinishedDelivery,
  signal?: AbortSignal,
): Promise<number> {
  const { found } = await unfinished(context, journal, wanted);
  if (!found?.remembered.state.transferId) return 0;
  const { state, volumes } = found.remembered;
  try {
    const here = await receivedVolumes(found.api, state.transferId, { signal });
    const own = here.filter(({ idx }) => volumes.has(idx));
    return own.reduce((sum, { idx }) => sum + extentOf(state.layout, idx).length, 0);
  } catch (error) {
    if (isGone(error)) return 0;
    throw error;
  }
}

/** Forgets an upload that will not go on, and frees what the service holds of it: it counts in the request until then. */
export async function abandon(
  context: RequestContext,
  journal: Journal,
  wanted: UnfinishedDelivery,
  signal?: AbortSignal,
): Promise<void> {
  const { log, found } = await unfinished(context, journal, wanted);
  try {
    if (found) {
      const { state } = found.remembered;
      await cancelTransfer(found.api, state.transferId || (await begin(context, state, signal)), { signal });
    }
  } catch (error) {
    if (!isOver(found!.remembered.state, error)) throw error;
  }
  // Not before: without it nobody can give the upload up once more.
  await log.end();
}

/** Reads, seals, remembers and sends one volume after the other; the token of the upload comes from its file key, so that nothing else need be kept. */
export class RequestUpload {
  readonly #context: RequestContext;
  readonly #source: Source;
  readonly #options: DeliveryOptions;
  readonly #sender: Sender;
  readonly #api: Api;
  #log: UploadLog | undefined;

  constructor(context: RequestContext, source: Source, options: DeliveryOptions) {
    source.begin?.();
    this.#context = context;
    this.#source = source;
    this.#options = options;
    // With the token of this upload, once it has one.
    this.#api = new Api({ ...context.apiOptions, server: context.api.server });
    this.#sender = new Sender({ api: this.#api }, options, source.size);
  }

  async run(): Promise<DeliveryResult> {
    const { journal, name, signal, onWait } = this.#options;
    const { identity, place } = this.#source;
    if (!journal || identity === undefined) return this.#run();
    const { engine, api, request } = this.#context;
    const key = await deliveryKey(engine, { server: api.server, id: request.id }, { place, name });
    this.#log = await logOf(this.#context, journal, { place, name });
    const { locks } = journal;
    // With one journal, two would take each other's uploads for their own.
    if (locks) await waitForLock(locks, key, { signal, onWait });
    try {
      return await this.#run();
    } finally {
      await locks?.release([key]);
    }
  }

  async #run(): Promise<DeliveryResult> {
    const found = await this.#resume();
    const begun = found ?? (await this.#begin());
    try {
      return await this.#finish(begun);
    } catch (error) {
      if (error instanceof FileChangedError) await this.#giveUp(begun);
      throw error instanceof ApiError && error.status === 401 ? await this.#context.over(error) : error;
    } finally {
      begun.supply.burn();
    }
  }

  async #resume(): Promise<Transfer | undefined> {
    const remembered = await this.#log?.load();
    if (!remembered) return undefined;
    const { state } = remembered;
    this.#api.token = await tokenOf(this.#context.engine, state);
    try {
      // Cut off before it was known whether it had begun.
      if (state.transferId === '') {
        state.transferId = await begin(this.#context, state, this.#options.signal);
        await this.#log!.begin(state);
      }
      const isSame = state.identity === this.#source.identity && state.layout.size === this.#source.size;
      const isBeginning = this.#source.extends?.(state.identity) === true;
      const begun = isSame || isBeginning ? await this.#found(remembered) : undefined;
      if (begun && (isSame || (await begun.supply.isKept(begun.here, this.#options.signal)))) return begun;
      await cancelTransfer(this.#api, state.transferId, { signal: this.#options.signal });
    } catch (error) {
      if (!isOver(state, error)) throw error;
    }
    await this.#log!.end();
    return undefined;
  }

  #found(remembered: Remembered): Promise<Transfer | undefined> {
    const { engine } = this.#context;
    const { signal } = this.#options;
    return recallTransfer({ api: this.#api, engine, source: this.#source, signal }, remembered);
  }

  async #begin(): Promise<Transfer> {
    const { engine } = this.#context;
    const layout = visitorsLayout(this.#source.size, this.#options.volumeSize);
    const secrets = newSecrets(engine);
    const supply = new VolumeSupply({ engine, source: this.#source, layout, secrets });
    // That it can be described is known before its volumes travel.
    await this.#describe(supply, '0'.repeat(64));
    const { identity = '', place = '' } = this.#source;
    const state = { transferId: '', path: this.#options.name, place, ...secrets, identity, layout };
    // Before the service counts it: without that, nobody who is cut off could go on with it, or give it up.
    await this.#log?.begin(state);
    const transferId = await begin(this.#context, state, this.#options.signal).catch(async (error) => {
      if (isOver(state, error)) await this.#log?.end();
      throw await this.#context.over(error);
    });
    this.#api.token = await tokenOf(engine, secrets);
    await this.#log?.begin({ ...state, transferId });
    return { transferId, supply, here: new Set(), description: undefined, resumed: false, grown: false };
  }

  async #describe({ secrets, layout }: VolumeSupply, total: string): Promise<CompleteBody> {
    const { engine, request, publicKey, psk } = this.#context;
    const { name, mtime, type } = this.#options;
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

  async #finish(begun: Transfer): Promise<DeliveryResult> {
    const { engine, memory } = this.#context;
    const { supply } = begun;
    const already = begun.resumed ? begun.here.size : 0;
    const { signal } = this.#options;
    const session = { engine, memory, sender: this.#sender, log: this.#log, signal };
    await sendAndComplete(session, begun, true, async () => {
      if (!begun.description) {
        const total = (await totalSha256(engine, supply.digests)).toHex();
        begun.description = await this.#describe(supply, total);
        // A repeated `complete`, even by another process, must say the same.
        await this.#log?.complete(begun.description, 0);
      }
      return completeTransfer(this.#api, begun.transferId, begun.description, { signal });
    });
    await this.#log?.end();
    return { resumed: already, size: supply.layout.size, grown: begun.grown };
  }

  /** Nothing more is sealed under its key. */
  async #giveUp({ transferId }: Transfer): Promise<void> {
    // The service clears abandoned uploads away by itself.
    await cancelTransfer(this.#api, transferId, { signal: AbortSignal.timeout(5_000) }).catch(() => {});
    await this.#log?.end();
  }
}
