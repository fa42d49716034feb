/** Opens links without an account. */

import {
  bytesOf,
  defined,
  type Engine,
  linkAccess,
  needsPassphrase,
  openLink,
  type ParsedLink,
  parseLinkHeader,
  type SharedFile,
  toBase64Url,
} from '@szafa/format';
import { Api, type ApiOptions, type CallOptions, hasStatus, linkHeaders } from '../call.ts';
import { LinkOverError } from '../errors.ts';
import { sharedVolumeReader } from '../transfers/calls.ts';
import { type ReadableHeader, RemoteFile } from '../transfers/download/remote-file.ts';
import { webEngine } from '../web/engine.ts';
import { type LinkAddress, parseLink } from './address.ts';

/** @public */
export interface VisitOptions extends Omit<ApiOptions, 'server' | 'token'> {
  /** Web Crypto by default. */
  engine?: Engine | undefined;
  /** The ticket of an earlier download, which still opens a link whose downloads are used up. */
  ticket?: string | undefined;
  signal?: AbortSignal | undefined;
}

const TICKET_BYTES = 32;

/**
 * Draws the id of one download. Save it before calling `take`, so that the download can continue later without being counted again.
 * @public
 */
export function newTicket(engine: Engine): string {
  return toBase64Url(engine.random(TICKET_BYTES));
}

/** Converts the server's refusal of a link to an error that names the reason. */
export function overOr(error: unknown): unknown {
  if (hasStatus(error, 404)) return new LinkOverError('unknown', 'the server does not know this link');
  if (!hasStatus(error, 410)) return error;
  const { ended } = error.body;
  return new LinkOverError(typeof ended === 'string' ? ended : 'ended', error.message);
}

export const throwOver = (error: unknown): never => {
  throw overOr(error);
};

/** A link before its passphrase is entered. @public */
export class LinkVisit {
  readonly needsPassphrase: boolean;
  readonly expiresAt: string | null;
  /** Null means unlimited. */
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

  /**
   * Fetches the header of a link, and checks that it belongs to the link.
   * @throws LinkOverError; TamperedError; SzafaError `link` if the text is not a complete link
   */
  static async begin(link: string | LinkAddress, options: VisitOptions = {}): Promise<LinkVisit> {
    const address = typeof link === 'string' ? parseLink(link) : link;
    const { engine = webEngine(), ticket, signal, ...rest } = options;
    const api = new Api({ ...rest, server: address.server });
    const access = toBase64Url(await linkAccess(engine, address.key));
    const headers = linkHeaders(access, ticket);
    const opened = await api
      .call('openShare', { params: { share_id: address.id }, headers, signal })
      .catch(throwOver);
    const header = bytesOf(opened.header, 'link', 'the header of the link');
    const parsed = await parseLinkHeader(engine, header, address.key);
    return new LinkVisit({ api, engine, address, parsed }, opened);
  }

  /**
   * Opens the files.
   * @throws PassphraseError if the passphrase is missing or wrong
   */
  async open(passphrase?: string): Promise<OpenedLink> {
    const { files, note } = await openLink(this.#engine, this.#parsed, this.#address.key, passphrase);
    const [api, engine, { id, key }] = [this.#api, this.#engine, this.#address];
    const headers = linkHeaders(toBase64Url(await linkAccess(engine, key)));
    const take: Take = (call) => api.call('takeTicket', { params: { share_id: id }, headers, ...call });
    return new OpenedLink({ api, engine, id, take }, files, note, this.#missing);
  }
}

/** A file of an opened link. @public */
export interface VisitedFile {
  /** Counted from 1. */
  number: number;
  /** The owner's path: sanitise it with `displayName` or `safeSegments` before use. */
  name: string;
  size: number;
  mtime?: number;
  type?: string;
  /** Target of a symbolic link, which has no bytes; empty if the target is private. Never follow it out of the target folder. */
  link?: string;
  /** Whether the owner has deleted the file. */
  missing: boolean;
}

/** @public */
export type SharedRemoteFile = RemoteFile<ReadableHeader>;

/** Starts a download on the server. */
type Take = (call: CallOptions & { body: { ticket: string } }) => Promise<{ expires_at: string }>;

/** The files of a link or of a received share. @public */
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
      ...{ number: at + 1, name: fileName(name, layout.size), size: layout.size },
      ...{ missing: missing.has(at + 1), ...defined({ mtime, type, link }) },
    }));
  }

  /**
   * Starts a download. Each ticket is counted once; pass it to `file` to read.
   * @returns when the ticket expires
   * @throws LinkOverError
   */
  async take(ticket: string, signal?: AbortSignal): Promise<Date> {
    const { expires_at } = await this.#take({ body: { ticket }, signal }).catch(throwOver);
    return new Date(expires_at);
  }

  /** Returns a file by its number. Its volumes are verified as they are read. */
  file(number: number, ticket: string): SharedRemoteFile {
    const shared = this.#shared[number - 1];
    if (!shared) throw new RangeError(`this link has no file ${number}`);
    const { name, layout, mtime, type, link, ...secrets } = shared;
    const padded = layout.padded === layout.size ? undefined : layout.padded;
    const metadata = {
      // Others have the file key too, so a single segment proves nothing.
      ...{ name, size: layout.size, shared: true as const },
      ...defined({ padded, mtime, type, link }),
    };
    const reader = sharedVolumeReader(this.#api, { id: this.id, number, ticket });
    const header = { ...secrets, layout, metadata };
    return new RemoteFile({ engine: this.engine, api: reader }, `${this.id}/${number}`, header);
  }
}

/** Removes trailing slashes from the name of a file with bytes: a name that ends in `/` means an empty folder. */
function fileName(name: string, size: number): string {
  let end = name.length;
  if (size > 0) while (end > 1 && name[end - 1] === '/') end--;
  return name.slice(0, end);
}
