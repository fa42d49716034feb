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
   * Where it is in the tree, from the top, as it was given: clean it with `displayName` or `safeSegments` before use. The path of a file
   * that is not verified is the directory and the name that the service tells.
   */
  path: string;
  /** The path below the directory that the service files it in; all of it where the path has another one. */
  name: string;
  /** The path is authentic. Plain names, and names whose keys are not here, are the service's word. */
  verified: boolean;
  /** The service has it in another directory than its path says. */
  misplaced?: true;
  /** Which of the files of its path it is, sealed as the path is; absent where that is not verified. */
  age?: Age;
  /** Bytes of the file, with its padding if it has any; of its stored form where the name is not verified. */
  size: number;
  dirId: number | null;
  createdAt: string;
  /** The name and the record do not belong together. */
  problem?: SzafaError;
  record: FileRecord;
}

/**
 * Of the files of one path the one with the highest `gen` is the newest, then the one that was added last, then the one with the greater
 * file id in its header. @public
 */
export interface Age {
  /** Of the name: a later one has a higher one. */
  rev: number;
  gen: number;
  /** Milliseconds since 1970, by the uploader's clock. */
  added: number;
  /** Only where another file of the path has the same `gen` and `added`: the greater one is newer. */
  tie?: string;
}

/** A directory, its name opened. @public */
export interface DirEntry {
  dirId: number;
  name: string;
  verified: boolean;
  fileCount: number;
  size: number;
  createdAt: string;
}

const PARALLEL = 8;

/** The name of the directory, as the service has it; '' for the root. */
const filedIn = ({ dir_id, dir_name }: FileRecord) => (dir_id ? (dir_name ?? '') : '');

export function bindingOf(record: FileRecord) {
  return { totalSha256: record.sha256, storedSize: record.size, count: record.chunk_count };
}

/** `sealed`: what stands under the seal of its name, where that opens. */
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
  // Every file may lie in the root: the specification puts those of a deleted directory there.
  if (dir !== '' && !inPlace) entry.misplaced = true;
  return entry;
}

/** The name under the keys known so far: sealed and whole, or not to be told yet. */
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
  /** No header is asked for: a path that was too long for the record ends with three dots. */
  cut?: boolean;
}

/**
 * Names are opened with the keys at hand. Only a name that none of them opens, or that was too long for the
 * record, costs a request: the file's header tells its master key and the whole name.
 */
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
  /** The names of a page are on their way at once, whatever the page before still waits for. */
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
    last.catch(() => {}); // awaited in the next round
    // In a browser each step of opening a name is a message to another thread: two pages keep both busy.
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

/** By the ids of files whose header has another name than the list: its `rev`. */
type WrongNames = Map<string, number>;

/** It may have been renamed or removed since the list was read: another list tells. */
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
    // A plain name may look like a sealed one by chance; a sealed one of another record must not pass for it.
    if (kind === 'plain') return entry;
    // A list that was asked for later is older than the header only if the file was renamed once more.
    const isLater = rev > (wrong.get(record.file_id) ?? 0);
    wrong.set(record.file_id, rev);
    return { ...entry, problem: isLater ? new ConflictError([path]) : wrongNameError() };
  } catch (error) {
    if (!(error instanceof SzafaError) || error.code === 'network') throw error;
    const entry = entryOf(record, dir);
    return error.code === 'unsupported' ? entry : { ...entry, problem: error };
  }
}

/** None where the password does not open the bag: the list is shown all the same, and each sealed file says why it cannot be read. */
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
