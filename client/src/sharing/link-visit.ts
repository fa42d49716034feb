/** A link, opened by whoever has it: no account, no session. */

import {
  type Engine,
  fromBase64Url,
  linkAccess,
  needsPassphrase,
  openLink,
  type ParsedLink,
  parseLinkHeader,
  type SharedFile,
  toBase64Url,
} from '@szafa/format';
import { Api, type ApiOptions, linkHeaders } from '../call.ts';
import { ApiError, LinkOverError, TamperedError } from '../errors.ts';
import { sharedVolumeReader } from '../transfers/calls.ts';
import { type ReadableHeader, RemoteFile } from '../transfers/download/remote-file.ts';
import { webEngine } from '../web/engine.ts';
import { type LinkAddress, parseLink } from './address.ts';

/** @public */
export interface VisitOptions extends Omit<ApiOptions, 'server' | 'token'> {
  /** Web Crypto unless told otherwise. */
  engine?: Engine | undefined;
  /** One that was taken before: with it a link that is used up still opens. */
  ticket?: string | undefined;
  signal?: AbortSignal | undefined;
}

const TICKET_BYTES = 32;

/** Names one download of a link: keep it before it is taken, and the same download can go on later without being counted again. @public */
export function newTicket(engine: Engine): string {
  return toBase64Url(engine.random(TICKET_BYTES));
}

/** What the service says of a link that it does not serve. */
export function overOr(error: unknown): unknown {
  if (!(error instanceof ApiError)) return error;
  const { ended } = error.body;
  if (error.status === 410)
    return new LinkOverError(typeof ended === 'string' ? ended : 'ended', error.message);
  if (error.status === 404)
    return new LinkOverError('unknown', 'the server knows no such link, or not any more');
  return error;
}

/** What a link gives away before its passphrase is known. @public */
export class LinkVisit {
  readonly needsPassphrase: boolean;
  readonly expiresAt: string | null;
  /** Null: any number. */
  readonly downloadsLeft: number | null;
  readonly #api: Api;
  readonly #engine: Engine;
  readonly #address: LinkAddress;
  readonly #parsed: ParsedLink;
  readonly #missing: ReadonlySet<number>;

  private constructor(
    parts: { api: Api; engine: Engine; address: LinkAddress; parsed: ParsedLink },
    opened: { expires_at: string | null; downloads_left: number | null; missing: number[] },
  ) {
    this.#api = parts.api;
    this.#engine = parts.engine;
    this.#address = parts.address;
    this.#parsed = parts.parsed;
    this.#missing = new Set(opened.missing);
    this.needsPassphrase = needsPassphrase(parts.parsed);
    this.expiresAt = opened.expires_at;
    this.downloadsLeft = opened.downloads_left;
  }

  /** Fetches what the link points to, and checks that it is what the link was made for. */
  static async begin(link: string | LinkAddress, options: VisitOptions = {}): Promise<LinkVisit> {
    const address = typeof link === 'string' ? parseLink(link) : link;
    const { engine = webEngine(), ticket, signal, ...rest } = options;
    const api = new Api({ ...rest, server: address.server });
    const access = toBase64Url(await linkAccess(engine, address.key));
    const opened = await api
      .call('openShare', { params: { share_id: address.id }, headers: linkHeaders(access, ticket), signal })
      .catch((error) => {
        throw overOr(error);
      });
    let header: Uint8Array<ArrayBuffer>;
    try {
      header = fromBase64Url(opened.header);
    } catch (cause) {
      throw new TamperedError('link', 'what the server gives is no header of a link', { cause });
    }
    const parsed = await parseLinkHeader(engine, header, address.key);
    return new LinkVisit({ api, engine, address, parsed }, opened);
  }

  /** The files; a wrong passphrase, or none where one is needed, is a PassphraseError. */
  async open(passphrase?: string): Promise<OpenedLink> {
    const { files, note } = await openLink(this.#engine, this.#parsed, this.#address.key, passphrase);
    const [api, engine, { id, key }] = [this.#api, this.#engine, this.#address];
    const access = toBase64Url(await linkAccess(engine, key));
    const take: Take = (ticket, signal) =>
      api.call('takeTicket', {
        params: { share_id: id },
        headers: linkHeaders(access),
        body: { ticket },
        signal,
      });
    return new OpenedLink({ api, engine, id, take }, files, note, this.#missing);
  }
}

/** A file of an opened link. @public */
export interface VisitedFile {
  /** From 1. */
  number: number;
  /** As its owner gave it: clean it with `displayName` or `safeSegments` before use. */
  name: string;
  size: number;
  mtime?: number;
  type?: string;
  /** Target of a symbolic link, which has no bytes; empty where its owner keeps it. Never to be followed out of what is written to. */
  link?: string;
  /** Its owner has deleted it since. */
  missing: boolean;
}

/** A file of a link, to be read as any other one. @public */
export type SharedRemoteFile = RemoteFile<ReadableHeader>;

/** Begins a download on the service. */
export type Take = (ticket: string, signal?: AbortSignal) => Promise<{ expires_at: string }>;

/** What is behind a link, or is shared with an account. @public */
export class OpenedLink {
  readonly id: string;
  readonly note: string | undefined;
  readonly files: VisitedFile[];
  readonly engine: Engine;
  readonly #api: Api;
  readonly #take: Take;
  readonly #shared: SharedFile[];

  constructor(
    context: { api: Api; engine: Engine; id: string; take: Take },
    shared: SharedFile[],
    note: string | undefined,
    missing: ReadonlySet<number>,
  ) {
    this.#api = context.api;
    this.engine = context.engine;
    this.id = context.id;
    this.#take = context.take;
    this.#shared = shared;
    this.note = note;
    this.files = shared.map(({ name, layout, mtime, type, link }, at) => ({
      ...{
        number: at + 1,
        name: fileName(name, layout.size),
        size: layout.size,
        missing: missing.has(at + 1),
      },
      ...(mtime !== undefined && { mtime }),
      ...(type !== undefined && { type }),
      ...(link !== undefined && { link }),
    }));
  }

  /** Begins a download, which counts, once for a ticket; `file` then reads with it. Until when it does. */
  async take(ticket: string, signal?: AbortSignal): Promise<Date> {
    const { expires_at } = await this.#take(ticket, signal).catch((error) => {
      throw overOr(error);
    });
    return new Date(expires_at);
  }

  /** A file by its number, with a ticket that was taken. Its volumes are verified as they are read, as an owner's are. */
  file(number: number, ticket: string): SharedRemoteFile {
    const shared = this.#shared[number - 1];
    if (!shared) throw new RangeError(`this link has no file ${number}`);
    const { name, layout, mtime, type, link, ...secrets } = shared;
    const metadata = {
      // The owner has the key as well, and so may others have it.
      ...{ name, size: layout.size, shared: true as const },
      ...(layout.padded !== layout.size && { padded: layout.padded }),
      ...(mtime !== undefined && { mtime }),
      ...(type !== undefined && { type }),
      ...(link !== undefined && { link }),
    };
    const reader = sharedVolumeReader(this.#api, { id: this.id, number, ticket });
    const header = { ...secrets, layout, metadata };
    return new RemoteFile({ engine: this.engine, api: reader }, `${this.id}/${number}`, header);
  }
}

/** A name that ends in `/` is that of an empty folder: what has bytes is a file, whatever its owner called it. */
function fileName(name: string, size: number): string {
  let end = name.length;
  if (size > 0) while (end > 1 && name[end - 1] === '/') end--;
  return name.slice(0, end);
}
