import type { Directory, FileRecord } from '@szafa/protocol';
import { nameKind, type OpenContext, openKept, openUnnamed, otherName } from './download/remote-file.ts';
import { LockedError, SzafaError, WrongPasswordError } from './errors.ts';
import type { Master } from './format/bag.ts';
import type { Engine } from './format/engine.ts';
import { sizeOfStored } from './format/layout.ts';
import { looksSealed, openDirName, openFileName } from './format/names.ts';
import { forEach } from './pool.ts';

/** A file as its owner sees it. @public */
export interface Entry {
  fileId: string;
  /** As it was given at the upload: clean it with `displayName` or `safeSegments` before use. */
  name: string;
  /** The name is authentic. Plain names, and names whose keys are not here, are the service's word. */
  verified: boolean;
  /** Bytes of the file, with its padding if it has any; of its stored form where the name is not verified. */
  size: number;
  dirId: number | null;
  createdAt: string;
  /** The name and the record do not belong together. */
  problem?: SzafaError;
  record: FileRecord;
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

function bindingOf(record: FileRecord) {
  return { totalSha256: record.sha256, storedSize: record.size, count: record.chunk_count };
}

function entryOf(record: FileRecord, name: string, verified: boolean): Entry {
  const size = verified ? sizeOfStored(record.size, record.chunk_count) : record.size;
  const { file_id: fileId, dir_id: dirId, created_at: createdAt } = record;
  return { fileId, name, verified, size, dirId, createdAt, record };
}

/** The name under the keys known so far: sealed and whole, or not to be told yet. */
async function nameOf(
  { engine }: OpenContext,
  masters: Master[],
  record: FileRecord,
): Promise<Entry | undefined> {
  for (const { key } of masters) {
    const opened = await openFileName(engine, key, record.file_name, bindingOf(record));
    if (opened?.whole) return entryOf(record, opened.name, true);
    if (opened) return undefined;
  }
  return undefined;
}

/**
 * Names are opened with the keys at hand. Only a name that none of them opens, or that was too long for the
 * record, costs a request: the file's header tells its master key and the whole name.
 */
export async function listEntries(
  context: OpenContext,
  records: Iterable<FileRecord>,
  signal?: AbortSignal,
): Promise<Entry[]> {
  const entries: Entry[] = [];
  const open: { at: number; record: FileRecord }[] = [];
  const masters = await mastersOf(context, signal);
  for (const record of records) {
    const sealed = context.keys.unlocked && looksSealed(record.file_name);
    const entry = sealed ? await nameOf(context, masters, record) : undefined;
    if (sealed && !entry) open.push({ at: entries.length, record });
    entries.push(entry ?? entryOf(record, record.file_name, false));
  }
  await forEach(open, PARALLEL, async ({ at, record }) => {
    entries[at] = await nameFromHeader(context, record, signal);
  });
  return entries;
}

async function nameFromHeader(
  context: OpenContext,
  record: FileRecord,
  signal?: AbortSignal,
): Promise<Entry> {
  try {
    const header =
      (await openKept(context, record, signal)) ??
      (await openUnnamed(context, record.file_id, { record, headOnly: true, signal })).header;
    const kind = await nameKind(context, record, header);
    const entry = entryOf(record, header.metadata.name, kind === 'sealed');
    // A plain name may look like a sealed one by chance; a sealed one of another record must not pass for it.
    return kind === 'other' ? { ...entry, problem: otherName() } : entry;
  } catch (error) {
    if (!(error instanceof SzafaError) || error.code === 'network') throw error;
    const entry = entryOf(record, record.file_name, false);
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
