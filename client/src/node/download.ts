import { createHash } from 'node:crypto';
import { close, constants, fchmod, fsync, ftruncate, futimes, open, write } from 'node:fs';
import { link, lstat, open as openHandle, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { ApiError, NetworkError, SzafaError } from '../errors.ts';
import type { Bytes } from '../format/bytes.ts';
import { extentOf } from '../format/volume.ts';
import type { Journal } from '../journal.ts';
import { forEach, lanesFor } from '../pool.ts';
import type { RemoteFile, StreamOptions } from '../remote-file.ts';
import { DownloadRecord } from './download-record.ts';

const openAsync = promisify(open);
const closeAsync = promisify(close);
const writeAsync = promisify(write);

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
  if (!options.overwrite) await refuseExisting(target);
  const part = partOf(target, remote);
  const record = new DownloadRecord(remote, part, options.journal);
  // In a folder that others share, a link must not lead the plaintext elsewhere.
  const fd = await openAsync(part, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  let keep = false;
  try {
    const digests = await record.verified();
    const resumed = digests.filter((digest) => digest !== undefined).length;
    await fetchMissing(remote, fd, digests, record, options);
    await remote.checkDigests(digests as Bytes[]);
    await finish(remote, fd);
    await moveInPlace(part, target, options.overwrite ?? false);
    keep = true;
    await record.remove();
    return { resumed };
  } catch (error) {
    keep = options.journal !== undefined && isPassing(error, options.signal);
    if (keep) await record.save();
    throw error;
  } finally {
    await closeAsync(fd);
    if (!keep) {
      await rm(part, { force: true });
      await record.remove();
    }
  }
}

async function fetchMissing(
  remote: RemoteFile,
  fd: number,
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
        await writeAll(fd, volume.bytes, extentOf(layout, idx).offset);
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

async function writeAll(fd: number, bytes: Uint8Array, position: number): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    at += (await writeAsync(fd, bytes, at, bytes.length - at, position + at)).bytesWritten;
  }
}

/** What is worth going on from: everything that came is right, and the rest may still come. */
function isPassing(error: unknown, signal: AbortSignal | undefined): boolean {
  if (signal?.aborted || error instanceof NetworkError) return true;
  return error instanceof ApiError && (error.status === 401 || error.status === 429 || error.status >= 500);
}

async function finish(remote: RemoteFile, fd: number): Promise<void> {
  const { size, mtime } = remote.metadata;
  await promisify(ftruncate)(fd, size);
  await promisify(fchmod)(fd, 0o666 & ~process.umask());
  if (mtime !== undefined) await promisify(futimes)(fd, new Date(), mtime / 1000);
  await promisify(fsync)(fd);
}

async function refuseExisting(target: string): Promise<void> {
  try {
    await lstat(target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  throw new ExistsError(target);
}

async function moveInPlace(part: string, target: string, overwrite: boolean): Promise<void> {
  if (overwrite) {
    await rename(part, target);
  } else {
    try {
      await link(part, target); // unlike rename it fails when somebody else was quicker
      await rm(part);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === 'EEXIST') throw new ExistsError(target);
      if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'EMLINK') throw error;
      await refuseExisting(target);
      await rename(part, target);
    }
  }
  const folder = await openHandle(dirname(target), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function partOf(target: string, remote: RemoteFile): string {
  const id = createHash('sha256')
    .update(`${remote.fileId}\0${basename(target)}`)
    .digest('hex')
    .slice(0, 16);
  return join(dirname(target), `.szafa-${id}.part`);
}
