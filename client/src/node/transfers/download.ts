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
import { inRoom } from '../../transfers/download/room.ts';
import { waitFor } from '../../upload/claims.ts';
import type { Journal } from '../../upload/journal.ts';
import { diskPath, realPath } from '../files/disk-path.ts';
import { localState } from '../files/local-state.ts';
import { setTime } from '../files/times.ts';
import { DownloadRecord, downloadClaim, type Noted } from './download-record.ts';
import { PartFile } from './part-file.ts';

const truncate = promisify(ftruncate);
const sync = promisify(fsync);

export interface DownloadOptions extends StreamOptions {
  /**
   * Remembers which volumes are there, so that a later call goes on with the others, and keeps two processes from
   * writing the same file: needs one with claims, as `fileJournal` has.
   */
  journal?: Journal | undefined;
  /** Replace a file that is already there. */
  overwrite?: boolean | undefined;
  /** Another process is downloading the same file to the same place, and is waited for. */
  onWait?: (() => void) | undefined;
}

export interface DownloadResult {
  /** Volumes that an earlier call has left. */
  resumed: number;
  /** Somebody else was quicker: nothing was written, and the whole file is there. */
  there: boolean;
}

/** Something is at the place of a download, and is not to be replaced. @public */
export class TargetExistsError extends SzafaError {
  override name = 'TargetExistsError';

  constructor(path: string) {
    super('target-exists', `${path} is already there`);
  }
}

/**
 * Writes a file under its final name only when every volume is verified. Until then it grows under a hidden
 * name beside it, which stays after a lost connection (with a journal) and goes after anything else. @public
 */
export async function downloadToFile(
  remote: RemoteFile<ReadableHeader>,
  path: string,
  options: DownloadOptions = {},
): Promise<DownloadResult> {
  const { journal, signal, onWait, overwrite = false } = options;
  const target = resolve(path);
  if (!overwrite) refuseExisting(target);
  const claims = journal?.claims;
  // Nobody else writes to a file of this name: not without a claim, and not with another journal.
  const part = partOf(target, remote, (await claims?.id()) ?? randomBytes(8).toString('hex'));
  if (!claims) return writeFile(remote, target, part, options);
  const claim = downloadClaim(part);
  const waited = await waitFor(claims, claim, { signal, onWait });
  try {
    if (waited && localState(target, remote.metadata) === 'same') return { resumed: 0, there: true };
    return await writeFile(remote, target, part, options);
  } finally {
    await claims.release([claim]);
  }
}

async function writeFile(
  remote: RemoteFile<ReadableHeader>,
  target: string,
  part: string,
  options: DownloadOptions,
): Promise<DownloadResult> {
  const { journal, signal, overwrite = false } = options;
  const record = new DownloadRecord(remote, part, target, journal?.claims && journal);
  const noted = await record.noted();
  const { size, sparse } = remote.metadata;
  const file = new PartFile(part, size, { resume: noted !== undefined, sparse });
  let keep = false;
  try {
    const volumes = await record.verified(noted, file);
    const resumed = volumes.filter((volume) => volume !== undefined).length;
    await fetchMissing(remote, file, volumes, record, options);
    await finish(remote, file);
    const there = await moveInPlace(remote, file, target, overwrite);
    keep = !there;
    await record.remove();
    return { resumed, there };
  } catch (error) {
    keep = journal?.claims !== undefined && isPassing(error, signal);
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
  volumes: (Noted | undefined)[],
  record: DownloadRecord,
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
      await record.note(volumes);
    } catch (error) {
      stop.abort(error);
      throw error;
    }
  };
  await inRoom(layout, options, (lanes) => forEach(missing, lanes, fetch));
}

/** What is worth going on from: everything that came is right, and the rest may still come. */
function isPassing(error: unknown, signal: AbortSignal | undefined): boolean {
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

/** True where another process has put the same file there meanwhile. */
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
    else nameNew(part, target);
  } catch (error) {
    if (!(error instanceof TargetExistsError) || localState(target, remote.metadata) !== 'same') throw error;
    return true;
  }
  await syncFolder(dirname(target));
  return false;
}

/** A disk without hard links, or a file that has too many. */
const UNLINKABLE = new Set(['EPERM', 'ENOTSUP', 'ENOSYS', 'EMLINK']);

function nameNew(part: string, target: string): void {
  try {
    linkSync(diskPath(part), diskPath(target)); // unlike rename it fails when somebody else was quicker
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

/** One sync serves all files of a folder that wait for the next one. */
async function syncFolder(folder: string): Promise<void> {
  // Those that begin in this turn of the event loop go together.
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

function partOf(target: string, remote: RemoteFile<ReadableHeader>, journalId: string): string {
  const id = createHash('sha256')
    .update(`${remote.fileId}\0${basename(target)}\0${journalId}`)
    .digest('hex')
    .slice(0, 16);
  return join(realPath(dirname(target)), `.szafa-${id}.part`);
}
