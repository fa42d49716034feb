/**
 * Reseals everything under earlier master keys under the newest one: headers and names of files (also in the trash), directory names, and
 * the owner's records of shares. Requests cannot be resealed and are ended. Each batch is stored as a whole, and the names in the list
 * show what is done, so that an interrupted run can be repeated.
 */
import {
  bytesOf,
  describeFile,
  epochOfShareRecord,
  type Master,
  openDirName,
  openFileName,
  parseHeader,
  sealDirName,
} from '@szafa/format';
import { deliveredBy, type ListedRequest, limits } from '@szafa/protocol';
import { hasStatus } from '../call.ts';
import { ApiError, changedAgain, RetiredKeyError, SzafaError, TamperedError } from '../errors.ts';
import { forEach } from '../pool.ts';
import { resealRecords } from '../sharing/links.ts';
import type { OpenContext } from '../transfers/download/context.ts';
import { checkRecord } from '../transfers/download/open-file.ts';
import { wrongNameError } from '../transfers/download/record-name.ts';
import { bindingOf } from './listing.ts';
import {
  allFiles,
  type ResealedFile,
  readStoredHeader,
  resealFile,
  type StoredFile,
  storeResealed,
} from './reseal-files.ts';

export interface ResealOptions {
  signal?: AbortSignal | undefined;
  /** Ids and names from `Resealed.failed` that the owner accepts although they are under a retired master key. */
  accept?: ReadonlySet<string> | undefined;
  onProgress?: ((done: number, total: number) => void) | undefined;
}

/** The result of `Szafa.reseal`. @public */
export interface Resealed {
  /** Epoch of the newest master key. */
  epoch: number;
  files: number;
  dirs: number;
  /** Number of resealed records of links and of shares with accounts. */
  shares: number;
  /** Open requests under an earlier master key, which were ended: anyone who has that key could read later deliveries. */
  requests: number;
  /**
   * Items that stay under an earlier master key because they do not open or the server refused them. `about` is an id or a folder name.
   */
  failed: { about: string; error: SzafaError }[];
}

/** The state of one run. */
interface Run {
  /** Newest first, including retired ones. */
  masters: Master[];
  floor: number;
  accept: ReadonlySet<string>;
  /** File id to the `rev` of the header, for files whose header and record have different names. */
  wrongNames: Map<string, number>;
  result: Resealed;
  signal: AbortSignal | undefined;
}

const PARALLEL = 8;
/** Small, so that an interruption loses little work. */
const BATCH = Math.min(limits.filesPerBatch, 500);
/** Attempts to reseal files that another device keeps changing. */
const MOST_ROUNDS = 3;

export async function reseal(
  context: OpenContext,
  { signal, onProgress, accept = new Set() }: ResealOptions = {},
): Promise<Resealed> {
  const masters = await context.keys.allMasters(signal);
  const floor = await context.keys.floor(signal);
  const { epoch } = masters[0]!;
  const result: Resealed = { epoch, files: 0, dirs: 0, shares: 0, requests: 0, failed: [] };
  const run: Run = { masters, floor, accept, wrongNames: new Map(), result, signal };
  await endRequests(context, run);
  let found = await allFiles(context, signal);
  const total = found.length;
  const refusedBefore = new Set<string>();
  for (let round = 1; found.length > 0; round++) {
    const changed = new Set<string>();
    for (let at = 0; at < found.length; at += BATCH) {
      const batch = found.slice(at, at + BATCH);
      const { sealed, gone, done } = await resealBatch(context, run, batch);
      const refused = await storeResealed(context, sealed, signal);
      // A refused file that is now up to date was stored by an attempt whose answer was lost.
      const doneBefore = done.filter((id) => refusedBefore.has(id));
      result.files += sealed.length - refused.size + doneBefore.length;
      for (const id of refused) refusedBefore.add(id);
      for (const id of [...gone, ...refused]) changed.add(id);
      if (round === 1) onProgress?.(at + batch.length, total);
    }
    // List again to skip files that were removed.
    const now = changed.size === 0 ? [] : await allFiles(context, signal);
    found = now.filter(({ record }) => changed.has(record.file_id));
    if (round < MOST_ROUNDS) continue;
    for (const { record } of found) result.failed.push({ about: record.file_id, error: changedAgain() });
    break;
  }
  await resealDirs(context, run);
  const shares = await resealRecords(context, accept, signal).catch(unlessUnknown({ done: 0, failed: [] }));
  result.shares = shares.done;
  result.failed.push(...shares.failed);
  return result;
}

/**
 * Returns `none` if the server has no such route. The server's list of features would not do: while sharing is turned off, its shares and
 * requests still exist.
 */
const unlessUnknown =
  <T>(none: T) =>
  (error: unknown): T => {
    if (isGone(error)) return none;
    throw error;
  };

/**
 * Reseals files of a batch that are under an earlier master key. Also returns the ids of files to look up again, and of files that need
 * nothing.
 */
async function resealBatch(
  context: OpenContext,
  run: Run,
  batch: StoredFile[],
): Promise<{ sealed: ResealedFile[]; gone: string[]; done: string[] }> {
  const { signal, result } = run;
  const found = { sealed: [] as ResealedFile[], gone: [] as string[], done: [] as string[] };
  await forEach(batch, PARALLEL, async (file) => {
    signal?.throwIfAborted();
    const { file_id } = file.record;
    try {
      const next = await resealOne(context, run, file);
      if (next === 'renamed') found.gone.push(file_id);
      else if (next) found.sealed.push(next);
      else found.done.push(file_id);
    } catch (error) {
      if (!isAboutOne(error)) throw error;
      if (isGone(error)) found.gone.push(file_id);
      else result.failed.push({ about: file_id, error });
    }
  });
  return found;
}

const isGone = (error: unknown) => error instanceof ApiError && error.kind === 'not-found';
/** Whether an error concerns one item only; any other error would affect all items. */
const isAboutOne = (error: unknown): error is SzafaError =>
  error instanceof SzafaError &&
  (/^(tampered|unsupported|name)$/.test(error.code) || isGone(error)) &&
  !(error instanceof TamperedError && error.aboutKeys);

/**
 * Returns undefined for a file under the newest master key or of another client; `renamed` if another device renamed it after the list
 * was read.
 */
async function resealOne(
  context: OpenContext,
  { masters, floor, accept, wrongNames, signal }: Run,
  file: StoredFile,
): Promise<ResealedFile | 'renamed' | undefined> {
  const { engine, keys } = context;
  const { record } = file;
  // A delivery has no master key until the owner accepts it; its content is up to the visitor.
  if (deliveredBy(record.file_name) !== undefined) return undefined;
  const [current, ...earlier] = masters as [Master, ...Master[]];
  const nameBy = ({ key }: Master) => openFileName(engine, key, record.file_name, bindingOf(record));
  if (await nameBy(current)) return undefined;
  const before = await readStoredHeader(context, file, signal);
  if (!('szafa' in before.encParams)) {
    for (const master of earlier) if (await nameBy(master)) throw wrongNameError();
    return undefined;
  }
  const parsed = parseHeader(before.encParams);
  const retired = parsed.epoch < floor;
  if (retired && !accept.has(record.file_id)) {
    // The name helps the owner decide, but anyone who has a retired key could have written it.
    const names = await Promise.all(earlier.map(nameBy));
    const name = names.find((one) => one !== undefined)?.name ?? record.file_name;
    throw new RetiredKeyError(parsed.epoch, JSON.stringify(name));
  }
  const accepted = retired ? masters.find(({ epoch }) => epoch === parsed.epoch)?.key : undefined;
  const master = accepted ?? (await keys.master(parsed.epoch, signal));
  if (parsed.epoch >= current.epoch) {
    // Already done, or sealed by another process under a newer key. The header must prove it.
    checkRecord(record, await describeFile(engine, parsed, master));
    return undefined;
  }
  const next = await resealFile(context, file, before, { parsed, master, current });
  if (!('otherRev' in next)) return next;
  // The list may be older than the header. If this happens again with a fresh list, the file must have been renamed once more.
  if (next.otherRev <= (wrongNames.get(record.file_id) ?? 0)) throw wrongNameError();
  wrongNames.set(record.file_id, next.otherRev);
  return 'renamed';
}

async function resealDirs({ api, engine }: OpenContext, run: Run): Promise<void> {
  const { floor, accept, result, signal } = run;
  const [current, ...earlier] = run.masters as [Master, ...Master[]];
  for (const { dir_id, name } of (await api.call('listDirs', { signal })).dirs) {
    signal?.throwIfAborted();
    if ((await openDirName(engine, current.key, name)) !== undefined) continue;
    for (const { key, epoch } of earlier) {
      const opened = await openDirName(engine, key, name);
      if (opened === undefined) continue;
      if (epoch < floor && !accept.has(opened)) {
        const error = new RetiredKeyError(epoch, `the folder name ${JSON.stringify(opened)}`);
        result.failed.push({ about: opened, error });
        break;
      }
      const next = await sealDirName(engine, current.key, opened);
      try {
        await api.call('renameDir', { params: { dir_id }, body: { name: next, match: name }, signal });
        result.dirs++;
      } catch (error) {
        // The directory was removed or renamed, or the new name already exists.
        if (!hasStatus(error, 404, 409, 412)) throw error;
        if (error.status === 409) result.failed.push({ about: opened, error });
      }
      break;
    }
  }
}

/**
 * Ends requests under earlier master keys. They cannot be resealed: their keys derive from the master key and are part of their links.
 */
async function endRequests({ api }: OpenContext, { result, signal }: Run): Promise<void> {
  const none = { requests: [] as ListedRequest[] };
  const { requests } = await api.call('listRequests', { signal }).catch(unlessUnknown(none));
  for (const { id, own, ended } of requests) {
    if (ended !== null) continue;
    try {
      const record = bytesOf(own, 'share', "the server's record of a request");
      if (epochOfShareRecord(record) >= result.epoch) continue;
      await api.call('endRequest', { params: { request_id: id }, signal });
      result.requests++;
    } catch (error) {
      if (!isAboutOne(error)) throw error;
      if (!isGone(error)) result.failed.push({ about: id, error });
    }
  }
}
