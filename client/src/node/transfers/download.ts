import { createHash, randomBytes } from 'node:crypto';
import {
  closeSync,
  fchmodSync,
  fstatSync,
  fsync,
  ftruncate,
  linkSync,
  lstatSync,
  openSync,
  renameSync,
  unlinkSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { extentOf } from '@szafa/format';
import { ApiError, NetworkError, SzafaError } from '../../errors.ts';
import { forEach } from '../../pool.ts';
import type { ReadableHeader, RemoteFile, StreamOptions } from '../../transfers/download/remote-file.ts';
import { withVolumeMemory } from '../../transfers/download/volume-memory.ts';
import type { Journal } from '../../transfers/upload/journal.ts';
import { waitForLock } from '../../transfers/upload/locks.ts';
import { diskPath, realPath } from '../files/disk-path.ts';
import { localState } from '../files/local-state.ts';
import { setTime } from '../files/times.ts';
import { type DownloadRecord, downloadLock, downloadRecord } from './download-record.ts';
import { PartFile } from './part-file.ts';

const truncate = promisify(ftruncate);
const sync = promisify(fsync);

export interface DownloadOptions extends StreamOptions {
  /**
   * Records which volumes are stored, so that a later call fetches only the others, and keeps two processes from writing the same file.
   * Works only with a journal that has locks, such as `fileJournal`.
   */
  journal?: Journal | undefined;
  /** Replace an existing file. */
  overwrite?: boolean | undefined;
  /** Called before waiting for another process that downloads the same file to the same path. */
  onWait?: (() => void) | undefined;
}

export interface DownloadResult {
  /** Number of volumes that an earlier call has stored. */
  resumed: number;
  /** Another process has written the same file, and this call wrote nothing. */
  there: boolean;
}

/** The target path exists, and `overwrite` is not set. @public */
export class TargetExistsError extends SzafaError {
  override name = 'TargetExistsError';

  constructor(path: string) {
    super('target-exists', `${path} is already there`);
  }
}

/**
 * Downloads a file. Until every volume is verified, the content is in a hidden file in the target folder. With a journal that file stays
 * after a lost connection; after any other error it is deleted.
 * @throws TargetExistsError if `path` exists and `overwrite` is not set; TamperedError, ApiError or NetworkError @public
 */
export async function downloadToFile(
  remote: RemoteFile<ReadableHeader>,
  path: string,
  options: DownloadOptions = {},
): Promise<DownloadResult> {
  const { journal, signal, onWait, overwrite = false } = options;
  const target = resolve(path);
  if (!overwrite) refuseExisting(target);
  const locks = journal?.locks;
  // The name is unique to this journal, or random without locks, so that no other process writes to the file.
  const part = partPath(target, remote, (await locks?.id()) ?? randomBytes(8).toString('hex'));
  if (!locks) return writeFile(remote, target, part, options);
  const lock = downloadLock(part);
  const waited = await waitForLock(locks, lock, { signal, onWait });
  try {
    if (waited && localState(target, remote.metadata) === 'same') return { resumed: 0, there: true };
    return await writeFile(remote, target, part, options);
  } finally {
    await locks.release([lock]);
  }
}

async function writeFile(
  remote: RemoteFile<ReadableHeader>,
  target: string,
  part: string,
  options: DownloadOptions,
): Promise<DownloadResult> {
  const { journal, signal, overwrite = false } = options;
  const record = downloadRecord(remote, part, target, journal?.locks && journal);
  const noted = await record.load();
  const { size, sparse } = remote.metadata;
  const file = new PartFile(part, size, { resume: noted !== undefined, sparse });
  let keep = false;
  try {
    const resumed = noted ? await record.verify(noted, file) : 0;
    await fetchMissing(remote, file, record, options);
    await finish(remote, file);
    const there = await moveInPlace(remote, file, target, overwrite);
    keep = !there;
    await record.remove();
    return { resumed, there };
  } catch (error) {
    keep = journal?.locks !== undefined && isResumable(error, signal);
    if (keep) await record.save();
    throw error;
  } finally {
    file.close();
    if (!keep) {
      await rm(diskPath(part), { force: true });
      await record.remove();
    }
  }
}

async function fetchMissing(
  remote: RemoteFile<ReadableHeader>,
  file: PartFile,
  { volumes, update }: DownloadRecord,
  options: DownloadOptions,
): Promise<void> {
  const { layout } = remote;
  const stop = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
  let done = 0;
  const count = (bytes: number) => {
    done += bytes;
    options.onProgress?.({ done: Math.max(0, Math.min(done, layout.size)), total: layout.size });
  };
  const missing: number[] = [];
  for (const [i, volume] of volumes.entries()) {
    if (volume) count(extentOf(layout, i + 1).length);
    else missing.push(i + 1);
  }
  const fetch = async (idx: number) => {
    try {
      const volume = await remote.read(idx, { signal, onBytes: count });
      try {
        await file.write(volume.bytes, extentOf(layout, idx).offset);
      } finally {
        volume.release();
      }
      volumes[idx - 1] = { salt: volume.salt, digest: volume.digest };
      await update();
    } catch (error) {
      stop.abort(error);
      throw error;
    }
  };
  await withVolumeMemory(layout, options, (parallel) => forEach(missing, parallel, fetch));
}

/** Whether a later call can continue: the stored volumes are correct, and the error may pass. */
function isResumable(error: unknown, signal: AbortSignal | undefined): boolean {
  if (signal?.aborted || error instanceof NetworkError) return true;
  return error instanceof ApiError && (error.status === 401 || error.status === 429 || error.status >= 500);
}

async function finish(remote: RemoteFile<ReadableHeader>, { fd, syncs }: PartFile): Promise<void> {
  const { size, mode = 0o666 & ~process.umask() } = remote.metadata;
  const cut = fstatSync(fd).size !== size;
  if (cut) await truncate(fd, size);
  setTime(fd, remote.metadata);
  fchmodSync(fd, mode);
  if (!syncs || cut) await sync(fd);
}

function refuseExisting(target: string): void {
  if (lstatSync(diskPath(target), { throwIfNoEntry: false })) throw new TargetExistsError(target);
}

/** Moves the part file to the target. Returns true if another process has written the same file in the meantime. */
async function moveInPlace(
  remote: RemoteFile<ReadableHeader>,
  { path: part, fd }: PartFile,
  target: string,
  overwrite: boolean,
): Promise<boolean> {
  const [named, written] = [lstatSync(diskPath(part)), fstatSync(fd)];
  if (named.ino !== written.ino || named.dev !== written.dev) {
    throw new SzafaError('not-own', `${part} was replaced while it was being written`);
  }
  try {
    if (overwrite) renameSync(diskPath(part), diskPath(target));
    else renameToNew(part, target);
  } catch (error) {
    if (!(error instanceof TargetExistsError) || localState(target, remote.metadata) !== 'same') throw error;
    return true;
  }
  await syncFolder(dirname(target));
  return false;
}

/** Error codes of a disk without hard links, or of a file with too many. */
const UNLINKABLE = new Set(['EPERM', 'ENOTSUP', 'ENOSYS', 'EMLINK']);

function renameToNew(part: string, target: string): void {
  try {
    linkSync(diskPath(part), diskPath(target)); // unlike rename, link fails if the target exists
    unlinkSync(diskPath(part));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'EEXIST') throw new TargetExistsError(target);
    if (!UNLINKABLE.has(code ?? '')) throw error;
    refuseExisting(target);
    renameSync(diskPath(part), diskPath(target));
  }
}

const folderSyncs = new Map<string, Promise<void>>();

/** Syncs a folder once for all calls of one turn of the event loop. */
async function syncFolder(folder: string): Promise<void> {
  let next = folderSyncs.get(folder);
  next ??= new Promise((resolve) => setImmediate(resolve)).then(async () => {
    folderSyncs.delete(folder);
    const fd = openSync(diskPath(folder), 'r');
    try {
      await sync(fd);
    } finally {
      closeSync(fd);
    }
  });
  folderSyncs.set(folder, next);
  return next;
}

function partPath(target: string, remote: RemoteFile<ReadableHeader>, journalId: string): string {
  const id = createHash('sha256')
    .update(`${remote.fileId}\0${basename(target)}\0${journalId}`)
    .digest('hex')
    .slice(0, 16);
  return join(realPath(dirname(target)), `.szafa-${id}.part`);
}
