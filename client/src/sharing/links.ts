/** Shares of an account: creates links, and lists all shares. */
import {
  bytesOf,
  defined,
  epochOfShareRecord,
  type LinkKey,
  linkAccess,
  linkKeyText,
  openHeaderToShare,
  openShareRecord,
  parseHeader,
  parseLinkKey,
  type SharedFile,
  sealLink,
  sealShareRecord,
  toBase64Url,
  utf8,
} from '@szafa/format';
import { type Ending, type ListedShare, limits, type RouteBody } from '@szafa/protocol';
import { hasStatus } from '../call.ts';
import { ApiError, changedAgain, SzafaError, TamperedError } from '../errors.ts';
import type { EncParams } from '../files/calls.ts';
import type { Entry } from '../files/listing.ts';
import { leadsWithin, ledTo, segmentsOf } from '../files/paths.ts';
import { forEach } from '../pool.ts';
import type { OpenContext } from '../transfers/download/context.ts';
import { checkRecord, readHead } from '../transfers/download/open-file.ts';
import { requireName } from '../transfers/download/record-name.ts';
import { linkText } from './address.ts';
import { markShared } from './mark.ts';

/** A file to share. @public */
export interface ShareItem {
  entry: Entry;
  /** The path that visitors see. */
  name: string;
}

/** @public */
export interface LinkOptions {
  /** The name in the owner's list and for the recipient; the name of the file by default. */
  title?: string | undefined;
  /** A message to those who open the share. */
  note?: string | undefined;
  /** Visitors need this passphrase in addition to the link. */
  passphrase?: string | undefined;
  expiresAt?: Date | undefined;
  /** Maximum number of downloads. */
  downloads?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Called with the number of files opened so far. */
  onProgress?: ((done: number, total: number) => void) | undefined;
}

/** @public */
export type ShareOptions = Omit<LinkOptions, 'passphrase'>;

/** @public */
export interface Link {
  id: string;
  /** Anyone who has the link, and the passphrase if there is one, can open the files. */
  link: string;
}

/** A link or a share with an account, as its owner sees it. @public */
export interface OwnLink extends Pick<ListedShare, 'id' | 'downloads' | 'downloaded' | 'files' | 'missing'> {
  /** Absent if there is a problem, or for a share with an account. */
  link?: string;
  /** The recipient's account. */
  to?: string;
  title: string;
  note?: string;
  hasPassphrase: boolean;
  /** Bytes of all files. */
  size: number;
  createdAt: string;
  expiresAt: string | null;
  /** Why the share no longer opens. */
  ended: Ending | null;
  /** Why the owner's record of the share cannot be used. */
  problem?: SzafaError;
}

/** The owner's record of a share. */
interface ShareRecord {
  kind: 'link' | 'account';
  /** Links only: the part after the `#`. */
  key?: string;
  /** Shares with an account only: the recipient. */
  to?: string;
  title: string;
  note?: string;
  passphrase: boolean;
  size: number;
}

const ID_BYTES = 16;
const PARALLEL = 8;
/** Longer titles and notes are truncated in the owner's list; visitors get the whole note. */
const TITLE_CHARS = 500;

/** Draws an id that does not start with a dash, which a command would take for an option. */
export function newShareId({ engine }: Pick<OpenContext, 'engine'>): string {
  let id = '';
  do id = toBase64Url(engine.random(ID_BYTES));
  while (id.startsWith('-'));
  return id;
}

/** A share with sealed files, before it is stored on the server. */
export interface NewShare {
  id: string;
  key: LinkKey;
  title: string;
  size: number;
}

/**
 * Seals the keys of the current versions and stores the share. Versions that are uploaded later are not part of it.
 * @param describe returns the recipient's part of the request and of the owner's record
 */
export async function createShare(
  context: OpenContext,
  items: readonly ShareItem[],
  options: LinkOptions,
  describe: (share: NewShare) => Promise<{
    request: Pick<RouteBody<'createShare'>, 'access' | 'to'>;
    record: Pick<ShareRecord, 'kind' | 'key' | 'to'>;
  }>,
): Promise<NewShare> {
  const { api, engine, keys } = context;
  const { note, passphrase, expiresAt, downloads, signal } = options;
  const files = await openSharedFiles(context, items, options);
  const { header, key } = await sealLink(engine, { files, ...defined({ note }) }, passphrase);
  for (const { fileKey } of files) fileKey.fill(0);
  const id = newShareId(context);
  const { title = items.length === 1 ? items[0]!.name : `${items.length} files` } = options;
  const size = files.reduce((sum, { layout }) => sum + layout.size, 0);
  const share = { id, key, title: title.slice(0, TITLE_CHARS), size };
  const { request, record } = await describe(share);
  const own: ShareRecord = {
    ...{ ...record, title: share.title, ...defined({ note: note?.slice(0, TITLE_CHARS) }) },
    ...{ passphrase: passphrase !== undefined, size },
  };
  await api.call('createShare', {
    body: {
      ...{ id, files: items.map(({ entry }) => entry.fileId), header: toBase64Url(header), ...request },
      own: toBase64Url(await sealShareRecord(engine, await keys.current(signal), id, own)),
      expires_at: expiresAt?.toISOString() ?? null,
      downloads: downloads ?? null,
    },
    signal,
  });
  return share;
}

/** See `Szafa.shareLink`. */
export async function makeLink(
  context: OpenContext,
  items: readonly ShareItem[],
  options: LinkOptions = {},
): Promise<Link> {
  const { api, engine } = context;
  const { id, key } = await createShare(context, items, options, async (share) => {
    // The server stores the hash; visitors send the text.
    const access = utf8(toBase64Url(await linkAccess(engine, share.key)));
    return {
      request: { access: (await engine.sha256(access)).toHex() },
      record: { kind: 'link', key: linkKeyText(share.key) },
    };
  });
  return { id, link: linkText({ server: api.server, id, key }) };
}

/** Opens the keys of the files, and marks the files as shared before anyone gets the keys. */
async function openSharedFiles(
  context: OpenContext,
  items: readonly ShareItem[],
  { signal, onProgress }: ShareOptions,
): Promise<SharedFile[]> {
  if (items.length === 0) throw new SzafaError('nothing', 'there is nothing to share');
  if (items.length > limits.shareFiles) {
    throw new SzafaError('too-many', `a share has at most ${limits.shareFiles} files, not ${items.length}`);
  }
  const files: SharedFile[] = [];
  const heads = new Map<string, EncParams>();
  const paths = pathsOf(items);
  let done = 0;
  await forEach(items.entries(), PARALLEL, async ([at, item]) => {
    const { file, head } = await openSharedFile(context, item, paths, signal);
    files[at] = file;
    if (head) heads.set(item.entry.fileId, head);
    onProgress?.(++done, items.length);
  });
  const entries = items.map(({ entry }) => entry);
  await markShared(context, entries, heads, signal);
  return files;
}

/**
 * Opens the key of a file. Requires that header, record and name belong together, so that the server cannot choose which file is shared.
 * @returns `head` is the header, unless it already has the mark of shared files
 */
async function openSharedFile(
  context: OpenContext,
  { entry, name }: ShareItem,
  paths: ReadonlySet<string>,
  signal: AbortSignal | undefined,
): Promise<{ file: SharedFile; head: EncParams | undefined }> {
  const { api, engine, keys } = context;
  if (entry.problem) throw entry.problem;
  const { encParams, encParamsText } = await readHead(api, entry.fileId, signal);
  const parsed = parseHeader(encParams);
  const header = await openHeaderToShare(engine, parsed, await keys.master(parsed.epoch, signal));
  checkRecord(entry.record, header);
  await requireName(context, entry.record, header, signal);
  const { fileId, fileKey, layout, totalSha256, metadata } = header;
  const { mtime, type, thumbnail, link: target } = metadata;
  const isShown = target !== undefined && leadsWithin(name, target) && paths.has(ledTo(name, target));
  const link = target === undefined || isShown ? target : '';
  const file = {
    ...{ fileId, fileKey, name, layout, totalSha256 },
    ...defined({ mtime, type, thumbnail, link }),
  };
  return { file, head: metadata.shared ? undefined : { encParams, encParamsText } };
}

/** Returns all paths that visitors see, including folders. */
function pathsOf(items: readonly ShareItem[]): Set<string> {
  const paths = new Set<string>();
  for (const { name } of items) {
    const parts = segmentsOf(name);
    for (let end = 1; end <= parts.length; end++) paths.add(parts.slice(0, end).join('/'));
  }
  return paths;
}

/** See `Szafa.links`. */
export async function listLinks(context: OpenContext, signal?: AbortSignal): Promise<OwnLink[]> {
  const { shares } = await context.api.call('listShares', { signal });
  const links: OwnLink[] = [];
  for (const share of shares) links.push(await ownLink(context, share, signal));
  return links;
}

async function ownLink(
  context: OpenContext,
  share: ListedShare,
  signal: AbortSignal | undefined,
): Promise<OwnLink> {
  const { id, created_at: createdAt, expires_at: expiresAt, downloads, downloaded } = share;
  const { files, missing, ended } = share;
  const facts = { id, createdAt, expiresAt, downloads, downloaded, files, missing, ended };
  try {
    const { key, to, title, note, passphrase, size } = await openOwnLink(context, share, signal);
    const link = key && linkText({ server: context.api.server, id, key });
    return { ...facts, ...defined({ link, to, title, note }), hasPassphrase: passphrase, size };
  } catch (error) {
    if (!(error instanceof SzafaError) || error.code === 'network') throw error;
    return { ...facts, title: '', hasPassphrase: false, size: 0, problem: error };
  }
}

const recordBytes = (own: string) => bytesOf(own, 'share', "the server's record of this share");

export async function openOwnLink(
  { engine, keys }: Pick<OpenContext, 'engine' | 'keys'>,
  { id, own }: Pick<ListedShare, 'id' | 'own'>,
  signal?: AbortSignal,
): Promise<Omit<ShareRecord, 'key'> & { key: LinkKey | undefined }> {
  const sealed = recordBytes(own);
  const master = await keys.master(epochOfShareRecord(sealed), signal);
  const record = (await openShareRecord(engine, master, id, sealed)) as Partial<ShareRecord>;
  const key = typeof record.key === 'string' ? parseLinkKey(record.key) : undefined;
  const { kind, to, title, note, passphrase = false, size = 0 } = record;
  const isKnown = kind === 'link' ? key !== undefined : kind === 'account' && typeof to === 'string';
  if (!isKnown || typeof title !== 'string') {
    throw new SzafaError('unsupported', 'a newer szafa made this share');
  }
  return { kind: kind!, key, ...defined({ to, title, note }), passphrase, size };
}

/**
 * Reseals the owner's records of shares under the newest master key.
 * @param accept ids of records that may be under a retired key
 */
export async function resealRecords(
  context: OpenContext,
  accept: ReadonlySet<string>,
  signal?: AbortSignal,
): Promise<{ done: number; failed: { about: string; error: SzafaError }[] }> {
  const { api, engine, keys } = context;
  const current = await keys.current(signal);
  const failed: { about: string; error: SzafaError }[] = [];
  const changed = new Set<string>();
  let done = 0;
  for (const { id, own } of (await api.call('listShares', { signal })).shares) {
    try {
      const sealed = recordBytes(own);
      const epoch = epochOfShareRecord(sealed);
      const retired = accept.has(id) ? await keys.allMasters(signal) : [];
      const accepted = retired.find((master) => master.epoch === epoch)?.key;
      const master = accepted ?? (await keys.master(epoch, signal));
      // Open the record even if it names the current epoch: the epoch is not authenticated until it opens.
      const record = await openShareRecord(engine, master, id, sealed);
      if (epoch >= current.epoch) continue;
      const next = toBase64Url(await sealShareRecord(engine, current, id, record));
      const body = { own: next, match: (await engine.sha256(utf8(own))).toHex() };
      await api.call('writeOwn', { params: { share_id: id }, body, signal });
      done++;
    } catch (error) {
      if (error instanceof ApiError && error.kind === 'not-found') continue;
      if (hasStatus(error, 412)) changed.add(id);
      else if (error instanceof TamperedError && !error.aboutKeys) failed.push({ about: id, error });
      else throw error;
    }
  }
  // Another device has resealed these records, or the answer to an earlier attempt was lost.
  const now = changed.size > 0 ? (await api.call('listShares', { signal })).shares : [];
  for (const { id, own } of now.filter((share) => changed.has(share.id))) {
    if (isUnder(current.epoch, own)) done++;
    else failed.push({ about: id, error: changedAgain() });
  }
  return { done, failed };
}

function isUnder(epoch: number, own: string): boolean {
  try {
    return epochOfShareRecord(recordBytes(own)) >= epoch;
  } catch (error) {
    if (error instanceof SzafaError) return false;
    throw error;
  }
}
