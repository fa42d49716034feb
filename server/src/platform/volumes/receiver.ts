import * as fs from 'node:fs';
import { promisify } from 'node:util';
import type { Volume } from '@szafa/protocol';
import type { Body } from './body.ts';
import { PAGE_BYTES, type Segment, type SegmentPool } from './segments.ts';
import { VolumeSink } from './volume-sink.ts';

const write = promisify(fs.write);
const truncate = promisify(fs.ftruncate);
const datasync = promisify(fs.fdatasync);
const { O_WRONLY, O_CREAT, O_EXCL, O_DIRECT, O_DSYNC } = fs.constants;

/** Volumes up to this size are written in one durable call, because page alignment would cost more than it saves. */
const SMALL_BYTES = 128 * 1024;
const PLAIN_SEGMENT_BYTES = 64 * 1024;

/**
 * Receives a volume into `path` and checks its size and SHA-256. When this resolves, the bytes are on disk. They bypass the
 * page cache (O_DIRECT) where the filesystem supports it.
 */
export async function receive(path: string, volume: Volume, body: Body, pool: SegmentPool): Promise<void> {
  const { size } = volume;
  const small = size <= SMALL_BYTES;
  const lease = small ? undefined : pool.lease();
  try {
    const { fd, direct } = small
      ? { fd: fs.openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_DSYNC, 0o600), direct: false }
      : openForWriting(path, lease !== undefined);
    try {
      let end = 0;
      const append = async (bytes: Segment) => {
        const start = end;
        // O_DIRECT writes whole pages; the file is truncated afterwards.
        const length = direct ? Math.ceil(bytes.length / PAGE_BYTES) * PAGE_BYTES : bytes.length;
        end += length;
        const pages = new Uint8Array(bytes.buffer, bytes.byteOffset, length);
        for (let done = 0; done < length; )
          done += (await write(fd, pages, done, length - done, start + done)).bytesWritten;
      };
      const sink = new VolumeSink(volume, lease ?? ownSegments(size), append);
      let last: Promise<void> | undefined;
      try {
        await body.pour(sink);
        last = append(sink.verify());
        await Promise.all([last, sink.written()]);
      } finally {
        // The descriptor and the segments are in use until all writes have ended.
        await Promise.allSettled([last, sink.settled()]);
      }
      if (end !== size) await truncate(fd, size);
      // Nothing was written for an empty volume.
      if (!small || size === 0) await datasync(fd);
    } finally {
      fs.closeSync(fd);
    }
  } finally {
    if (lease) pool.release(lease);
  }
}

function ownSegments(size: number): Segment[] {
  // One byte more than the volume needs, to notice a body that is too long.
  if (size <= SMALL_BYTES) return [new Uint8Array(size + 1)];
  return [new Uint8Array(PLAIN_SEGMENT_BYTES), new Uint8Array(PLAIN_SEGMENT_BYTES)];
}

function openForWriting(path: string, wantDirect: boolean): { fd: number; direct: boolean } {
  if (wantDirect && O_DIRECT) {
    try {
      return { fd: fs.openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_DIRECT, 0o600), direct: true };
    } catch (error) {
      // tmpfs and some network filesystems lack O_DIRECT; they may have created the file nevertheless.
      if ((error as NodeJS.ErrnoException).code !== 'EINVAL') throw error;
    }
  }
  return { fd: fs.openSync(path, O_WRONLY | O_CREAT, 0o600), direct: false };
}
