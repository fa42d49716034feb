/** What an account shares: links, and the list of all of it. */
import {
  bytesOf,
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
import { type Ending, type ListedShare, limits } from '@szafa/protocol';
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

/** A file to be shared, and what visitors see as its path. @public */
export interface ShareItem {
  entry: Entry;
  /** Below what is shared; `/` parts it. */
  name: string;
}

/** @public */
export interface LinkOptions {
  /** What it is called in the owner's list, and for the account that it is for: of one file its name, unless told. */
  title?: string | undefined;
  /** For those who open it. */
  note?: string | undefined;
  /** Asked for beside the link. */
  passphrase?: string | undefined;
  expiresAt?: Date | undefined;
  /** How many may be begun. */
  downloads?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Files whose keys were opened, of all. */
  onProgress?: ((done: number, total: number) => void) | undefined;
}

/** @public */
export interface Link {
  id: string;
  /** What is sent to others: whoever has it, and the passphrase if there is one, has the files. */
  link: string;
}

/** A link, or a share with an account, as its owner sees it. @public */
export interface OwnLink {
  id: string;
  /** Absent where there is a problem, and where it is for an account. */
  link?: string;
  /** The account that it is for. */
  to?: string;
  title: string;
  note?: string;
  hasPassphrase: boolean;
  /** Bytes of all files. */
  size: number;
  createdAt: string;
  expiresAt: string | null;
  /** How many there may be; null: any number. */
  downloads: number | null;
  downloaded: number;
  files: number;
  /** Of these, how many are deleted or in the trash, and so not served. */
  missing: number;
  /** Why it opens nothing any more. */
  ended: Ending | null;
  /** What the service keeps beside it is not what its owner put there. */
  problem?: SzafaError;
}

/** What is kept beside a share. */
export interface OwnJson {
  kind: 'link' | 'account';
  /** Of a link: what stands behind the #. */
  key?: string;
  /** Of a share with an account. */
  to?: string;
  title: string;
  note?: string;
  passphrase: boolean;
  size: number;
}

const ID_BYTES = 16;
const PARALLEL = 8;

/** @public */
export type ShareOptions = Omit<LinkOptions, 'passphrase'>;

/** An id that the service has no say in; none that a command would take for an option, where somebody types its beginning. */
export function newShareId({ engine }: Pick<OpenContext, 'engine'>): string {
  let id = '';
  do id = toBase64Url(engine.random(ID_BYTES));
  while (id.startsWith('-'));
  return id;
}

/** What it is called. */
export const titleOf = (items: readonly ShareItem[], { title }: ShareOptions) =>
  (title ?? (items.length === 1 ? items[0]!.name : `${items.length} files`)).slice(0, TITLE_CHARS);

export const sizeOf = (files: readonly SharedFile[]) =>
  files.reduce((sum, { layout }) => sum + layout.size, 0);

/** What of a note its owner's list has. */
export const noteOf = ({ note }: ShareOptions) => note !== undefined && { note: note.slice(0, TITLE_CHARS) };

/** Of the files as they are now: one that is uploaded anew later is another one. */
export async function makeLink(
  context: OpenContext,
  items: readonly ShareItem[],
  options: LinkOptions = {},
): Promise<Link> {
  const { api, engine, keys } = context;
  const { note, passphrase, expiresAt, downloads, signal } = options;
  const files = await sharedFiles(context, items, options);
  const { header, key } = await sealLink(engine, { files, ...(note !== undefined && { note }) }, passphrase);
  for (const { fileKey } of files) fileKey.fill(0);
  const id = newShareId(context);
  const own: OwnJson = {
    kind: 'link',
    key: linkKeyText(key),
    title: titleOf(items, options),
    ...noteOf(options),
    passphrase: passphrase !== undefined,
    size: sizeOf(files),
  };
  await api.call('createShare', {
    body: {
      id,
      files: items.map(({ entry }) => entry.fileId),
      header: toBase64Url(header),
      access: await accessHash(context, key),
      own: toBase64Url(await sealShareRecord(engine, await keys.current(signal), id, own)),
      expires_at: expiresAt?.toISOString() ?? null,
      downloads: downloads ?? null,
    },
    signal,
  });
  return { id, link: linkText({ server: api.server, id, key }) };
}

/** More of them is cut off in the owner's list; visitors get all of a note. */
const TITLE_CHARS = 500;

/** As the service compares it: it gets the text itself only from visitors. */
async function accessHash({ engine }: OpenContext, key: LinkKey): Promise<string> {
  const access = utf8(toBase64Url(await linkAccess(engine, key)));
  return (await engine.sha256(access)).toHex();
}

/** What others need of each; the owner's headers say from now on that others have the keys. */
export async function sharedFiles(
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
  const given = pathsOf(items);
  let done = 0;
  await forEach(items.entries(), PARALLEL, async ([at, item]) => {
    const { file, head } = await sharedFile(context, item, given, signal);
    files[at] = file;
    if (head) heads.set(item.entry.fileId, head);
    onProgress?.(++done, items.length);
  });
  // Before anybody is given a key.
  await markShared(
    context,
    items.map(({ entry }) => entry),
    heads,
    signal,
  );
  return files;
}

/**
 * Its key is given away only where header, record and name are those of one file: the service must not choose which. `head`: its header,
 * where that does not say yet that others have the key.
 */
async function sharedFile(
  context: OpenContext,
  { entry, name }: ShareItem,
  given: ReadonlySet<string>,
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
  const { mtime, type, thumbnail, link } = metadata;
  const file = {
    ...{ fileId, fileKey, name, layout, totalSha256 },
    ...(mtime !== undefined && { mtime }),
    ...(type !== undefined && { type }),
    ...(thumbnail !== undefined && { thumbnail }),
    ...(link !== undefined && { link: leadsWithin(name, link) && given.has(ledTo(name, link)) ? link : '' }),
  };
  return { file, head: metadata.shared ? undefined : { encParams, encParamsText } };
}

/** Everything that visitors see, folders included. */
function pathsOf(items: readonly ShareItem[]): Set<string> {
  const paths = new Set<string>();
  for (const { name } of items) {
    const parts = segmentsOf(name);
    for (let end = 1; end <= parts.length; end++) paths.add(parts.slice(0, end).join('/'));
  }
  return paths;
}

export async function listLinks(context: OpenContext, signal?: AbortSignal): Promise<OwnLink[]> {
  const shares = (await context.api.call('listShares', { signal })).shares;
  const links: OwnLink[] = [];
  for (const share of shares) links.push(await ownLink(context, share, signal));
  return links;
}

/**
 * What is kept beside shares, under the newest master key where it is under an earlier one. `accept`: ids of those that may be under a
 * retired one; `failed`: the ids of those that stay as they are.
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
      const sealed = ownBytes(own);
      // Opened also where it says that it is done: anybody can say so.
      const epoch = epochOfShareRecord(sealed);
      const retired = accept.has(id) ? await keys.allMasters(signal) : [];
      const accepted = retired.find((master) => master.epoch === epoch)?.key;
      const kept = await openShareRecord(engine, accepted ?? (await keys.master(epoch, signal)), id, sealed);
      if (epoch >= current.epoch) continue;
      const next = toBase64Url(await sealShareRecord(engine, current, id, kept));
      await api.call('writeOwn', {
        params: { share_id: id },
        body: { own: next, match: (await engine.sha256(utf8(own))).toHex() },
        signal,
      });
      done++;
    } catch (error) {
      if (error instanceof ApiError && error.kind === 'not-found') continue;
      if (error instanceof ApiError && error.status === 412) changed.add(id);
      else if (error instanceof TamperedError && !error.aboutKeys) failed.push({ about: id, error });
      else throw error;
    }
  }
  // An answer that was lost looks the same as another device that did it: either way it is done.
  const now = changed.size > 0 ? (await api.call('listShares', { signal })).shares : [];
  for (const { id, own } of now.filter(({ id }) => changed.has(id))) {
    if (isUnder(current.epoch, own)) done++;
    else failed.push({ about: id, error: changedAgain() });
  }
  return { done, failed };
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
    const whose = key ? { link: linkText({ server: context.api.server, id, key }) } : { to: to! };
    return {
      ...facts,
      ...whose,
      title,
      ...(note !== undefined && { note }),
      hasPassphrase: passphrase,
      size,
    };
  } catch (error) {
    if (!(error instanceof SzafaError) || error.code === 'network') throw error;
    return { ...facts, title: '', hasPassphrase: false, size: 0, problem: error };
  }
}

function isUnder(epoch: number, own: string): boolean {
  try {
    return epochOfShareRecord(ownBytes(own)) >= epoch;
  } catch (error) {
    if (error instanceof SzafaError) return false;
    throw error;
  }
}

const ownBytes = (own: string) => bytesOf(own, 'share', 'what the server keeps beside this share');

export async function openOwnLink(
  { engine, keys }: Pick<OpenContext, 'engine' | 'keys'>,
  { id, own }: Pick<ListedShare, 'id' | 'own'>,
  signal?: AbortSignal,
): Promise<Omit<OwnJson, 'key'> & { key: LinkKey | undefined }> {
  const sealed = ownBytes(own);
  const master = await keys.master(epochOfShareRecord(sealed), signal);
  const json = (await openShareRecord(engine, master, id, sealed)) as Partial<OwnJson>;
  const key = typeof json.key === 'string' ? parseLinkKey(json.key) : undefined;
  const { kind, to, title, note, passphrase = false, size = 0 } = json;
  const isKnown = kind === 'link' ? key !== undefined : kind === 'account' && typeof to === 'string';
  if (!isKnown || typeof title !== 'string') {
    throw new SzafaError('unsupported', 'a newer szafa made this share');
  }
  return {
    kind: kind!,
    key,
    ...(to !== undefined && { to }),
    title,
    ...(note !== undefined && { note }),
    passphrase,
    size,
  };
}
