/**
 * After a new master key: every header and name of a file, in the trash or not, every directory name, and what is kept beside shares, is
 * sealed under the new one where it is under an earlier one. The volumes stay as they are, and so do the file keys that open them.
 * Requests, which cannot be sealed anew, are ended. Each batch counts as a whole once the service has it, and what is done shows in the list itself: cut off anywhere, the next run does what is left.
 */

import {
  bytesOf,
  describeFile,
  epochOfShareRecord,
  type Master,
  openDirName,
  openFileName,
  parseHeader,
  resealHeader,
  sealDirName,
} from '@szafa/format';
import { deliveredBy, type ListedRequest, limits } from '@szafa/protocol';
import { ApiError, changedAgain, RetiredKeyError, SzafaError, TamperedError } from '../errors.ts';
import { forEach } from '../pool.ts';
import { resealOwn } from '../sharing/links.ts';
import type { OpenContext } from '../transfers/download/context.ts';
import { checkRecord, readHead } from '../transfers/download/open-file.ts';
import { nameKind, wrongNameError } from '../transfers/download/record-name.ts';
import { readTrashed } from './calls.ts';
import { allFiles, type ResealedFile, renameAll, replacing, type StoredFile } from './stored-files.ts';

export interface ResealOptions {
  signal?: AbortSignal | undefined;
  /** Found under a retired master key, and the owner's own all the same: ids and names as in `Resealed.failed`. */
  accept?: ReadonlySet<string> | undefined;
  /** Files looked at, of all. */
  onProgress?: ((done: number, total: number) => void) | undefined;
}

/** What `Szafa.reseal` did. @public */
export interface Resealed {
  /** Of the master key that everything is under now. */
  epoch: number;
  files: number;
  dirs: number;
  /** Links and shares with accounts: what is kept beside them. */
  shares: number;
  /** Requests that were open under an earlier master key, and have been ended: whoever has that key could read what still came by them. */
  requests: number;
  /** What stays under an earlier master key, since it cannot be opened or the service did not take it: the id of a file, a share or a request, the name of a directory. */
  failed: { about: string; error: SzafaError }[];
}

interface Known {
  /** Retired ones as well, newest first. */
  masters: Master[];
  floor: number;
  accept: ReadonlySet<string>;
  /** By the ids of files: `rev` of the header where the list had another name than that. */
  wrongNames: Map<string, number>;
}

const PARALLEL = 8;
/** Little enough that a batch cut off costs little. */
const BATCH = Math.min(limits.filesPerBatch, 500);
/** Looks at a file that another device changes at the same moments. */
const MOST_ROUNDS = 3;

export async function reseal(
  context: OpenContext,
  { signal, onProgress, accept = new Set() }: ResealOptions = {},
): Promise<Resealed> {
  const masters = await context.keys.allMasters(signal);
  const floor = await context.keys.floor(signal);
  const current = masters[0]!;
  const result: Resealed = { epoch: current.epoch, files: 0, dirs: 0, shares: 0, requests: 0, failed: [] };
  await endRequests(context, current, result, signal);
  let found = await allFiles(context, signal);
  const total = found.length;
  const refusedBefore = new Set<string>();
  const known: Known = { masters, floor, accept, wrongNames: new Map() };
  for (let round = 1; found.length > 0; round++) {
    const changed = new Set<string>();
    for (let at = 0; at < found.length; at += BATCH) {
      const batch = found.slice(at, at + BATCH);
      const { sealed, gone, done } = await resealBatch(context, known, batch, result, signal);
      const refused = await renameAll(context, sealed, signal);
      const taken = sealed.filter(({ renamed }) => !refused.has(renamed.file_id));
      await context.revs?.note(new Map(taken.map(({ renamed, rev }) => [renamed.file_id, rev])));
      // What was refused before and needs nothing now was done by an attempt whose answer was lost.
      const doneBefore = done.filter((id) => refusedBefore.has(id));
      result.files += taken.length + doneBefore.length;
      for (const id of refused) refusedBefore.add(id);
      for (const id of [...gone, ...refused]) changed.add(id);
      if (round === 1) onProgress?.(at + batch.length, total);
    }
    // As they are now: of those that were removed meanwhile nothing is left to do.
    found = changed.size === 0 ? [] : (await allFiles(context, signal)).filter(isAmong(changed));
    if (round < MOST_ROUNDS) continue;
    for (const { record } of found) result.failed.push({ about: record.file_id, error: changedAgain() });
    break;
  }
  await resealDirs(context, known, result, signal);
  const shares = await resealOwn(context, accept, signal).catch(orNone<Shares>({ done: 0, failed: [] }));
  result.shares = shares.done;
  result.failed.push(...shares.failed);
  return result;
}

type Shares = Awaited<ReturnType<typeof resealOwn>>;

/**
 * A service that knows nothing of requests or shares has none. What it offers does not tell: where sharing is switched off, those that
 * there are go on once it is on again.
 */
const orNone =
  <T>(none: T) =>
  (error: unknown): T => {
    if (error instanceof ApiError && isGone(error)) return none;
    throw error;
  };

const isAmong =
  (ids: Set<string>) =>
  ({ record }: StoredFile) =>
    ids.has(record.file_id);

/** Those of a batch that are under an earlier master key, sealed anew; the ids of those that are elsewhere by now, and of those that need nothing. */
async function resealBatch(
  context: OpenContext,
  known: Known,
  batch: StoredFile[],
  { failed }: Resealed,
  signal?: AbortSignal,
): Promise<{ sealed: ResealedFile[]; gone: string[]; done: string[] }> {
  const result = { sealed: [] as ResealedFile[], gone: [] as string[], done: [] as string[] };
  await forEach(batch, PARALLEL, async (file) => {
    signal?.throwIfAborted();
    const { file_id } = file.record;
    try {
      const next = await resealFile(context, known, file, signal);
      if (next === 'renamed') result.gone.push(file_id);
      else if (next) result.sealed.push(next);
      else result.done.push(file_id);
    } catch (error) {
      if (!isAboutOne(error)) throw error;
      if (isGone(error)) result.gone.push(file_id);
      else failed.push({ about: file_id, error });
    }
  });
  return result;
}

const isGone = (error: SzafaError) => error instanceof ApiError && error.kind === 'not-found';
/** Of this file alone; anything else would hit the others as well. */
const isAboutOne = (error: unknown): error is SzafaError =>
  error instanceof SzafaError &&
  (/^(tampered|unsupported|name)$/.test(error.code) || isGone(error)) &&
  !(error instanceof TamperedError && error.aboutKeys);

/** Undefined for a file that is under the newest master key, or is none of ours; `renamed`: by another device, since it was listed. */
async function resealFile(
  context: OpenContext,
  { masters, floor, accept, wrongNames }: Known,
  { record, inTrash }: StoredFile,
  signal?: AbortSignal,
): Promise<ResealedFile | 'renamed' | undefined> {
  // Nothing of it is under a master key before it is taken over, whatever a visitor wrote there.
  if (deliveredBy(record.file_name) !== undefined) return undefined;
  const { engine, api, keys, revs } = context;
  const [current, ...earlier] = masters as [Master, ...Master[]];
  const binding = { totalSha256: record.sha256, storedSize: record.size, count: record.chunk_count };
  const nameBy = ({ key }: Master) => openFileName(engine, key, record.file_name, binding);
  const isNamedBy = async (master: Master) => (await nameBy(master)) !== undefined;
  /** For the owner to judge by: nobody else has named it so, but somebody who has a retired key can have. */
  const shownName = async () => {
    const names = await Promise.all(earlier.map(nameBy));
    return JSON.stringify(names.find((name) => name !== undefined)?.name ?? record.file_name);
  };
  // The name alone shows what is done.
  if (await isNamedBy(current)) return undefined;
  const answer = inTrash
    ? await readTrashed(api, record.file_id, { signal })
    : await readHead(api, record.file_id, signal);
  if (!('szafa' in answer.encParams)) {
    for (const master of earlier) if (await isNamedBy(master)) throw wrongNameError();
    return undefined;
  }
  const parsed = parseHeader(answer.encParams);
  const retired = parsed.epoch < floor;
  if (retired && !accept.has(record.file_id)) throw new RetiredKeyError(parsed.epoch, await shownName());
  const accepted = retired ? masters.find(({ epoch }) => epoch === parsed.epoch)?.key : undefined;
  const master = accepted ?? (await keys.master(parsed.epoch, signal));
  if (parsed.epoch >= current.epoch) {
    // Done, or another process has made a key since, and seals under that one: nothing goes back. Whoever only says so has no such header.
    checkRecord(record, await describeFile(engine, parsed, master));
    return undefined;
  }
  const header = await resealHeader(engine, parsed, master, current);
  // The new name is bound to what the list says.
  checkRecord(record, header.before);
  // Sealed anew, a name of an earlier time would be as new as the one that was seen.
  const older = await revs?.check(record.file_id, header.before.metadata.rev);
  if (older) throw older;
  const kind = await nameKind(context, record, header.before, accepted);
  if (kind === 'other') {
    // The list may be older than the header; one that was asked for later is so only if the file was renamed once more.
    const { rev } = header.before.metadata;
    if (rev <= (wrongNames.get(record.file_id) ?? 0)) throw wrongNameError();
    wrongNames.set(record.file_id, rev);
    return 'renamed';
  }
  return replacing(context, { record, inTrash }, answer.encParamsText, header, { kind, master: current.key });
}

async function resealDirs(
  { api, engine }: OpenContext,
  { masters: [current, ...earlier], floor, accept }: Known,
  result: Resealed,
  signal?: AbortSignal,
): Promise<void> {
  for (const { dir_id, name } of (await api.call('listDirs', { signal })).dirs) {
    signal?.throwIfAborted();
    if ((await openDirName(engine, current!.key, name)) !== undefined) continue;
    for (const { key, epoch } of earlier) {
      const opened = await openDirName(engine, key, name);
      if (opened === undefined) continue;
      if (epoch < floor && !accept.has(opened)) {
        const error = new RetiredKeyError(epoch, `the folder name ${JSON.stringify(opened)}`);
        result.failed.push({ about: opened, error });
        break;
      }
      const next = await sealDirName(engine, current!.key, opened);
      try {
        await api.call('renameDir', { params: { dir_id }, body: { name: next, match: name }, signal });
        result.dirs++;
      } catch (error) {
        // Removed, renamed, or made anew under the same name meanwhile.
        if (!(error instanceof ApiError && [404, 409, 412].includes(error.status))) throw error;
        if (error.status === 409) result.failed.push({ about: opened, error });
      }
      break;
    }
  }
}

/** The keys of a request come from the master key of its time, and its link has them: it cannot be sealed anew. */
async function endRequests(
  { api }: OpenContext,
  current: Master,
  result: Resealed,
  signal?: AbortSignal,
): Promise<void> {
  for (const { id, own, ended } of (
    await api.call('listRequests', { signal }).catch(orNone({ requests: [] as ListedRequest[] }))
  ).requests) {
    if (ended !== null) continue;
    try {
      if (
        epochOfShareRecord(bytesOf(own, 'share', 'what the server keeps beside a request')) >= current.epoch
      )
        continue;
      await api.call('endRequest', { params: { request_id: id }, signal });
      result.requests++;
    } catch (error) {
      if (!isAboutOne(error)) throw error;
      if (!isGone(error)) result.failed.push({ about: id, error });
    }
  }
}
