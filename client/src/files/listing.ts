import {
  type Engine,
  type ListedName,
  looksSealed,
  type Master,
  openDirName,
  openFileName,
  sizeOfStored,
} from '@szafa/format';
import type { Directory, FileRecord } from '@szafa/protocol';
import { ApiError, ConflictError, LockedError, SzafaError, WrongPasswordError } from '../errors.ts';
import { forEach } from '../pool.ts';
import type { OpenContext } from '../transfers/download/context.ts';
import { openCached, openUnnamed } from '../transfers/download/open-file.ts';
import { forgetNames, nameKind, noteName, wrongNameError } from '../transfers/download/record-name.ts';
import { eachFile } from './calls.ts';
import { joinPath } from './paths.ts';

/** A file as its owner sees it. @public */
export interface Entry {
  fileId: string;
  /**
   * The path from the root: sanitise it with `displayName` or `safeSegments` before use. If not verified, it consists of the directory
   * and name that the server claims.
   */
  path: string;
  /** The path below the server's directory; the whole path if the file belongs elsewhere. */
  name: string;
  /** Whether the owner sealed this path. Plain names, and names for which there is no key, are only the server's claim. */
  verified: boolean;
  /** The server lists the file in another directory than its path says. */
  misplaced?: true;
  /** The age among versions of the path, sealed with the path; absent if the path is not verified. */
  age?: Age;
  /** Bytes of the file including padding; of its stored form if the name is not verified. */
  size: number;
  dirId: number | null;
  createdAt: string;
  /** Set if the name and the record do not belong together. */
  problem?: SzafaError;
  record: FileRecord;
}

/**
 * Orders the versions of a path: the newest has the highest `gen`, then the latest `added`, then the greatest file id in its header.
 * @public
 */
export interface Age {
  /** Counts the names of the file so far. */
  rev: number;
  gen: number;
  /** Milliseconds since 1970, by the uploader's clock. */
  added: number;
  /** Set only if another file of the path has the same `gen` and `added`; the greater tie is newer. */
  tie?: string;
}

/** A directory with its opened name. @public */
export interface DirEntry {
  dirId: number;
  name: string;
  verified: boolean;
  fileCount: number;
  size: number;
  createdAt: string;
}

const PARALLEL = 8;

/** Returns the server's name of the record's directory; '' for the root. */
const filedIn = ({ dir_id, dir_name }: FileRecord) => (dir_id ? (dir_name ?? '') : '');

export function bindingOf(record: FileRecord) {
  return { totalSha256: record.sha256, storedSize: record.size, count: record.chunk_count };
}

/** @param sealed the content of the sealed name, if it opens */
function entryOf(record: FileRecord, dir: string, sealed?: ListedName): Entry {
  const { file_id: fileId, dir_id: dirId, created_at: createdAt, file_name } = record;
  if (!sealed) {
    const path = joinPath(dir, file_name);
    return { fileId, path, name: file_name, verified: false, size: record.size, dirId, createdAt, record };
  }
  const { name: path, rev, gen, added } = sealed;
  const inPlace = dir !== '' && path.startsWith(dir) && path[dir.length] === '/';
  const name = inPlace ? path.slice(dir.length + 1) : path;
  const size = sizeOfStored(record.size, record.chunk_count);
  const age = { rev, gen, added };
  const entry: Entry = { fileId, path, name, verified: true, age, size, dirId, createdAt, record };
  // Any file may be in the root, where files of deleted directories move.
  if (dir !== '' && !inPlace) entry.misplaced = true;
  return entry;
}

/** Opens a name with the known keys; undefined if none opens it. A truncated name is returned only with `cut`. */
async function nameOf(
  { engine }: OpenContext,
  masters: Master[],
  record: FileRecord,
  cut: boolean,
): Promise<ListedName | undefined> {
  for (const { key } of masters) {
    const opened = await openFileName(engine, key, record.file_name, bindingOf(record));
    if (opened && !opened.whole && cut) return { ...opened, name: `${opened.name}…` };
    if (!opened) continue;
    if (opened.whole) noteName(record, key, opened);
    return opened.whole ? opened : undefined;
  }
  return undefined;
}

interface ListOptions {
  signal?: AbortSignal | undefined;
  dirId?: number | undefined;
  /** Fetch no headers: a truncated path ends with an ellipsis. */
  cut?: boolean;
}

/** Opens names with the known keys. Fetches a file's header only if no key opens the name, or if the name is truncated. */
export async function listEntries(
  context: OpenContext,
  pages: Iterable<FileRecord[]> | AsyncIterable<FileRecord[]>,
  { signal, dirId, cut = false }: ListOptions = {},
): Promise<Entry[]> {
  const entries: Entry[] = [];
  const open: { at: number; record: FileRecord; dir: string }[] = [];
  const masters = await mastersOf(context, signal);
  const { unlocked } = context.keys;
  forgetNames(context.api);
  const dirs = new Map<string, string>();
  const dirOf = async (record: FileRecord) => {
    const filed = filedIn(record);
    const known = dirs.get(filed) ?? (await dirNameOf(context.engine, masters, filed)) ?? filed;
    dirs.set(filed, known);
    return known;
  };
  /** Opens all names of a page at once, without waiting for the previous page. */
  const add = async (page: FileRecord[], before: Promise<void>): Promise<void> => {
    const opening = unlocked ? page.map((record) => nameOf(context, masters, record, cut)) : [];
    const [names] = await Promise.all([Promise.all(opening), before]);
    for (const [at, record] of page.entries()) {
      const dir = dirs.get(filedIn(record)) ?? (await dirOf(record));
      const name = names[at];
      if (!name && unlocked && !cut && looksSealed(record.file_name)) {
        open.push({ at: entries.length, record, dir });
      }
      entries.push(entryOf(record, dir, name));
    }
  };
  let last = Promise.resolve();
  for await (const page of pages) {
    const before = last;
    last = add(page, before);
    last.catch(() => {}); // rejection is handled by the await in the next round
    // In a browser each step of opening a name is a message to another thread; two pages in progress keep both threads busy.
    await before;
  }
  await last;
  const wrong: WrongNames = new Map();
  await forEach(open, PARALLEL, async ({ at, record, dir }) => {
    entries[at] = await entryFromHeader(context, record, dir, wrong, signal);
  });
  const gone = new Set<Entry>();
  const doubtful = open.filter(({ at }) => isDoubtful(entries[at]!));
  if (doubtful.length > 0) {
    const now = await Array.fromAsync(
      eachFile(context.api, 'listFiles', { signal, dirId }),
      (one) => [one.file_id, one] as const,
    );
    const byId = new Map(now);
    await forEach(doubtful, PARALLEL, async ({ at, record }) => {
      const found = byId.get(record.file_id);
      if (!found) gone.add(entries[at]!);
      else entries[at] = await entryFromHeader(context, found, await dirOf(found), wrong, signal);
    });
  }
  const left = entries.filter((entry) => !gone.has(entry));
  await context.revs?.see(left);
  return left;
}

/** File id to the `rev` of the header, for files whose header and record have different names. */
type WrongNames = Map<string, number>;

/** Whether the file may have been renamed or removed since the list was read, so that a fresh list is needed. */
const isDoubtful = ({ problem }: Entry) =>
  problem instanceof ConflictError || (problem instanceof ApiError && problem.kind === 'not-found');

async function entryFromHeader(
  context: OpenContext,
  record: FileRecord,
  dir: string,
  wrong: WrongNames,
  signal?: AbortSignal,
): Promise<Entry> {
  try {
    const header =
      (await openCached(context, record, signal)) ??
      (await openUnnamed(context, record.file_id, { record, headOnly: true, signal })).header;
    const kind = await nameKind(context, record, header);
    if (kind === 'sealed') return entryOf(record, dir, header.metadata);
    const { name: path, rev } = header.metadata;
    const entry = { ...entryOf(record, dir), path, name: path };
    // A plain name may look like a sealed one by chance, but a name sealed for another record must not be accepted.
    if (kind === 'plain') return entry;
    // This list was read after the header, so a newer header is only plausible if the file was renamed once more.
    const isLater = rev > (wrong.get(record.file_id) ?? 0);
    wrong.set(record.file_id, rev);
    return { ...entry, problem: isLater ? new ConflictError([path]) : wrongNameError() };
  } catch (error) {
    if (!(error instanceof SzafaError) || error.code === 'network') throw error;
    const entry = entryOf(record, dir);
    return error.code === 'unsupported' ? entry : { ...entry, problem: error };
  }
}

/** Returns no keys if the password does not open the bag: the list is still shown, and each sealed file has its own error. */
async function mastersOf({ keys }: OpenContext, signal?: AbortSignal): Promise<Master[]> {
  if (!keys.unlocked) return [];
  try {
    return await keys.masters(signal);
  } catch (error) {
    if (error instanceof WrongPasswordError || error instanceof LockedError) return [];
    throw error;
  }
}

async function dirNameOf(engine: Engine, masters: Master[], name: string): Promise<string | undefined> {
  for (const { key } of masters) {
    const opened = await openDirName(engine, key, name);
    if (opened !== undefined) return opened;
  }
  return undefined;
}

export async function listDirEntries(
  context: OpenContext,
  dirs: Iterable<Directory>,
  signal?: AbortSignal,
): Promise<DirEntry[]> {
  const entries: DirEntry[] = [];
  const masters = await mastersOf(context, signal);
  for (const dir of dirs) {
    const name = await dirNameOf(context.engine, masters, dir.name);
    entries.push({
      dirId: dir.dir_id,
      name: name ?? dir.name,
      verified: name !== undefined,
      fileCount: dir.file_count,
      size: dir.size,
      createdAt: dir.created_at,
    });
  }
  return entries;
}
