/** Uploads through the link of a file request, without an account. */
import {
  bytesOf,
  type Engine,
  openRequestHeader,
  requestAccess,
  storedSize,
  toBase64Url,
} from '@szafa/format';
import { readServerInfo } from '../accounts/calls.ts';
import { Api, linkHeaders } from '../call.ts';
import { ApiError, LinkOverError } from '../errors.ts';
import type { Journal } from '../transfers/upload/journal.ts';
import { VolumeMemory } from '../transfers/upload/memory.ts';
import type { Source } from '../transfers/upload/source.ts';
import { webEngine } from '../web/engine.ts';
import { parseRequest, type RequestAddress } from './address.ts';
import { overOr, throwOver, type VisitOptions } from './link-visit.ts';
import {
  cancelDelivery,
  type DeliveryOptions,
  type DeliveryResult,
  deliveryKey,
  type RequestContext,
  storedOf,
  type UnfinishedDelivery,
  uploadToRequest,
  visitorsLayout,
} from './request-upload.ts';

/** The remaining limits of a request. @public */
export interface RequestLimits {
  expiresAt: string | null;
  files: number;
  /** Bytes of the stored form, which is slightly larger than the files. */
  bytes: number;
}

/** @public */
export class RequestVisit {
  readonly limits: RequestLimits;
  /** The owner's message. */
  readonly note: string | undefined;
  readonly #context: RequestContext;

  private constructor(context: RequestContext, limits: RequestLimits, note: string | undefined) {
    this.#context = context;
    this.limits = limits;
    this.note = note;
  }

  /**
   * Fetches the key to seal files for, and checks that it belongs to the link.
   * @throws LinkOverError; TamperedError; SzafaError `link` if the text is not a complete link
   */
  static async begin(
    link: string | RequestAddress,
    options: Omit<VisitOptions, 'ticket'> = {},
  ): Promise<RequestVisit> {
    const address = typeof link === 'string' ? parseRequest(link) : link;
    const { engine = webEngine(), signal, ...apiOptions } = options;
    const { id, key } = address;
    const api = new Api({ ...apiOptions, server: address.server });
    const access = toBase64Url(await requestAccess(engine, key));
    const open = () =>
      api.call('openRequest', { params: { request_id: id }, headers: linkHeaders(access), signal });
    const opened = await open().catch(throwOver);
    const header = bytesOf(opened.header, 'request', 'the header of the request');
    const { publicKey, note } = await openRequestHeader(engine, header, key);
    const { service_id: serviceId } = await readServerInfo(api, { signal });
    const over = async (error: unknown): Promise<unknown> => {
      if (!(error instanceof ApiError)) return error;
      if (error.status === 409 && 'files_left' in error.body) return new LinkOverError('full', error.message);
      if (error.status !== 401) return overOr(error);
      // The token is no longer valid. Opening the request again shows the reason.
      return open().then(
        () => error,
        (reason) => overOr(reason),
      );
    };
    const context = {
      ...{ api, apiOptions, engine, memory: new VolumeMemory(), publicKey, psk: key.psk, access, over },
      request: { serviceId, id },
    };
    const { expires_at: expiresAt, files_left: files, bytes_left: bytes } = opened;
    return new RequestVisit(context, { expiresAt, files, bytes }, note);
  }

  get id(): string {
    return this.#context.request.id;
  }

  /** Whether the request would accept a file of this size, by the limits read in `begin`. */
  takes(size: number): boolean {
    return this.limits.files > 0 && storedSize(visitorsLayout(size)) <= this.limits.bytes;
  }

  /** Seals a file for the owner and uploads it. Throws a LinkOverError if the request accepts no more files. */
  upload(source: Source, options: DeliveryOptions): Promise<DeliveryResult> {
    return uploadToRequest(this.#context, source, options);
  }

  /** Returns how many bytes of an unfinished upload the server has and need not be sent again. */
  storedOf(journal: Journal, wanted: UnfinishedDelivery, signal?: AbortSignal): Promise<number> {
    return storedOf(this.#context, journal, wanted, signal);
  }

  /** Removes an unfinished upload from the journal after its request has ended. @public */
  static async forget(
    { server, id }: RequestAddress,
    journal: Journal,
    wanted: UnfinishedDelivery,
    engine: Engine = webEngine(),
  ): Promise<void> {
    await journal.remove(await deliveryKey(engine, { server, id }, wanted));
  }

  /** Cancels an unfinished upload. It no longer counts against the request, and cannot be resumed. */
  abandon(journal: Journal, wanted: UnfinishedDelivery, signal?: AbortSignal): Promise<void> {
    return cancelDelivery(this.#context, journal, wanted, signal);
  }
}
