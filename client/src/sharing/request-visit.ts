/** The link of a request, used by whoever has it: no account, no session. */

import {
  type Bytes,
  type Engine,
  fromBase64Url,
  openRequestHeader,
  requestAccess,
  storedSize,
  toBase64Url,
} from '@szafa/format';
import { readServerInfo } from '../accounts/calls.ts';
import { Api, linkHeaders } from '../call.ts';
import { ApiError, LinkOverError, TamperedError } from '../errors.ts';
import type { Journal } from '../transfers/upload/journal.ts';
import { VolumeMemory } from '../transfers/upload/memory.ts';
import type { Source } from '../transfers/upload/source.ts';
import { webEngine } from '../web/engine.ts';
import { parseRequest, type RequestAddress } from './address.ts';
import { overOr, type VisitOptions } from './link-visit.ts';
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

/** What a request still takes. @public */
export interface RequestLimits {
  expiresAt: string | null;
  files: number;
  /** Of what is stored, which is a little more than the files. */
  bytes: number;
}

/** @public */
export class RequestVisit {
  readonly limits: RequestLimits;
  /** What its owner says. */
  readonly note: string | undefined;
  readonly #context: RequestContext;

  private constructor(context: RequestContext, limits: RequestLimits, note: string | undefined) {
    this.#context = context;
    this.limits = limits;
    this.note = note;
  }

  /** Fetches the key that files are sealed for, and checks that it is the one that the link was made for. */
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
    const opened = await open().catch((error) => {
      throw overOr(error);
    });
    let header: Bytes;
    try {
      header = fromBase64Url(opened.header);
    } catch (cause) {
      throw new TamperedError('request', 'what the server gives is no header of a request', { cause });
    }
    const { publicKey, note } = await openRequestHeader(engine, header, key);
    const { service_id: serviceId } = await readServerInfo(api, { signal });
    const over = async (error: unknown): Promise<unknown> => {
      if (!(error instanceof ApiError)) return error;
      if (error.status === 409 && 'files_left' in error.body) return new LinkOverError('full', error.message);
      if (error.status !== 401) return overOr(error);
      // The token is void: the request says why.
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

  /** Whether it would be taken, by what the service said at the beginning. */
  takes(size: number): boolean {
    return this.limits.files > 0 && storedSize(visitorsLayout(size)) <= this.limits.bytes;
  }

  /** Seals a file for the owner and uploads it. A LinkOverError says that the request takes no more. */
  upload(source: Source, options: DeliveryOptions): Promise<DeliveryResult> {
    return uploadToRequest(this.#context, source, options);
  }

  /** Bytes of an unfinished upload that the service has, and that need not be sent again. */
  storedOf(journal: Journal, wanted: UnfinishedDelivery, signal?: AbortSignal): Promise<number> {
    return storedOf(this.#context, journal, wanted, signal);
  }

  /** Forgets an unfinished upload of a request that is over. @public */
  static async forget(
    { server, id }: RequestAddress,
    journal: Journal,
    wanted: UnfinishedDelivery,
    engine: Engine = webEngine(),
  ): Promise<void> {
    await journal.remove(await deliveryKey(engine, { server, id }, wanted));
  }

  /** Gives an unfinished upload up: it does not count any more, and cannot go on. */
  abandon(journal: Journal, wanted: UnfinishedDelivery, signal?: AbortSignal): Promise<void> {
    return cancelDelivery(this.#context, journal, wanted, signal);
  }
}
