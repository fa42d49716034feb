import { createHash } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  fsync,
  ftruncate,
  futimesSync,
  linkSync,
  lstatSync,
  openSync,
  renameSync,
  unlinkSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { ApiError, NetworkError, SzafaError } from '../errors.ts';
import type { Bytes } from '../format/bytes.ts';
import { extentOf } from '../format/volume.ts';
import type { Journal } from '../journal.ts';
import { forEach, lanesFor } from '../pool.ts';
import type { RemoteFile, StreamOptions } from '../remote-file.ts';
import { DownloadRecord } from './download-record.ts';
import { PartFile } from './part-file.ts';

const truncate = promisify(ftruncate);
const sync = promisify(fsync);

export interface DownloadOptions extends StreamOptions {
  /** Remembers which volumes are there, so that a later call goes on with the others. */
  journal?: Journal | undefined;
  /** Replace a file that is already there. */
  overwrite?: boolean | undefined;
}

/** Already there, and not to be replaced. */
export class ExistsError extends SzafaError {
  override name = 'ExistsError';

  constructor(path: string) {
    super('exists', `${path} is already there`);
  }
}

const PARALLEL = 4;

/**
 * Writes a file under its final name only when every volume is verified. Until then it grows under a hidden
 * name beside it, which stays after a lost connection (with a journal) and goes after anything else.
 */
export async function downloadToFile(
  remote: RemoteFile,
  path: string,
  options: DownloadOptions = {},
): Promise<{ resumed: number }> {
  const target = resolve(path);
  if (!options.overwrite) refuseExisting(target);
  const part = partOf(target, remote);
  const record = new DownloadRecord(remote, part, options.journal);
  const file = new PartFile(part, remote.metadata.size);
  let keep = false;
  try {
    const digests = await record.verified();
    const resumed = digests.filter((digest) => digest !== undefined).length;
    await fetchMissing(remote, file, digests, record, options);
    await remote.checkDigests(digests as Bytes[]);
    await finish(remote, file);
    await moveInPlace(part, target, options.overwrite ?? false);
    keep = true;
    await record.remove();
    return { resumed };
  } catch (error) {
    keep = options.journal !== undefined && isPassing(error, options.signal);
    if (keep) await record.save();
    throw error;
  } finally {
    file.close();
    if (!keep) {
      await rm(part, { force: true });
      await record.remove();
    }
  }
}

async function fetchMissing(
  remote: RemoteFile,
  file: PartFile,
  digests: (Bytes | undefined)[],
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
  for (const [i, digest] of digests.entries()) {
    if (digest) count(extentOf(layout, i + 1).length);
    else missing.push(i + 1);
  }
  const lanes = lanesFor(layout.volumeSize, options.parallel ?? PARALLEL);
  await forEach(missing, lanes, async (idx) => {
    try {
      const volume = await remote.read(idx, { signal, onBytes: count });
      try {
        if (layout.count === 1) await remote.checkDigests([volume.digest], volume.bytes);
        await file.write(volume.bytes, extentOf(layout, idx).offset);
      } finally {
        volume.release();
      }
      digests[idx - 1] = volume.digest;
      await record.note(digests);
    } catch (error) {
      stop.abort(error);
      throw error;
    }
  });
}

/** What is worth going on from: everything that came is right, and the rest may still come. */
function isPassing(error: unknown, signal: AbortSignal | undefined): boolean {
  if (signal?.aborted || error instanceof NetworkError) return true;
  return error instanceof ApiError && (error.status === 401 || error.status === 429 || error.status >= 500);
}

async function finish(remote: RemoteFile, { fd, syncs }: PartFile): Promise<void> {
  const { size, mtime } = remote.metadata;
  const cut = fstatSync(fd).size !== size;
  if (cut) await truncate(fd, size);
  if (mtime !== undefined) futimesSync(fd, new Date(), mtime / 1000);
  if (!syncs || cut) await sync(fd);
}

function refuseExisting(target: string): void {
  if (lstatSync(target, { throwIfNoEntry: false })) throw new ExistsError(target);
}

async function moveInPlace(part: string, target: string, overwrite: boolean): Promise<void> {
  if (overwrite) {
    renameSync(part, target);
  } else {
    try {
      linkSync(part, target); // unlike rename it fails when somebody else was quicker
      unlinkSync(part);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === 'EEXIST') throw new ExistsError(target);
      if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'EMLINK') throw error;
      refuseExisting(target);
      renameSync(part, target);
    }
  }
  await syncFolder(dirname(target));
}

const folderSyncs = new Map<string, Promise<void>>();

/** One sync serves all files of a folder that wait for the next one. */
async function syncFolder(folder: string): Promise<void> {
  // Those that begin in this turn of the event loop go together.
  let next = folderSyncs.get(folder);
  next ??= new Promise((resolve) => setImmediate(resolve)).then(async () => {
    folderSyncs.delete(folder);
    const fd = openSync(folder, 'r');
    try {
      await sync(fd);
    } finally {
      closeSync(fd);
    }
  });
  folderSyncs.set(folder, next);
  return next;
}

function partOf(target: string, remote: RemoteFile): string {
  const id = createHash('sha256')
    .update(`${remote.fileId}\0${basename(target)}`)
    .digest('hex')
    .slice(0, 16);
  return join(dirname(target), `.szafa-${id}.part`);
}
