import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { constants, open as openCallback, write as writeCallback } from 'node:fs';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import type { Volume } from '@szafa/protocol';
import { VolumeRejected } from '../errors.ts';
import { PAGE_BYTES, type SegmentPool } from './segments.ts';

const openFile = promisify(openCallback);
const write = promisify(writeCallback);
const truncate = promisify(fs.ftruncate);
const datasync = promisify(fs.fdatasync);
const close = promisify(fs.close);

/** Volumes up to this size are written at once; page alignment would cost more than it saves. */
const SMALL_BYTES = 128 * 1024;
const PLAIN_SEGMENT_BYTES = 64 * 1024;

/**
 * The one receiver: size and SHA-256 are checked while the bytes stream into `path`, and when it resolves they
 * are on disk. Bytes are gathered into segments; one is filled while the other is written past the page cache
 * (O_DIRECT), where the filesystem can.
 */
export async function receive(
  path: string,
  volume: Volume,
  body: Readable,
  pool: SegmentPool,
): Promise<void> {
  const lease = volume.size > SMALL_BYTES ? pool.lease() : undefined;
  try {
    const { fd, direct } = await openForWriting(path, lease !== undefined);
    try {
      const segments = lease ?? ownSegments(volume.size);
      await new Reception(fd, volume, direct).run(body, segments);
      await datasync(fd);
    } finally {
      await close(fd);
    }
  } finally {
    if (lease) pool.release(lease);
  }
}

function ownSegments(size: number): Uint8Array<ArrayBuffer>[] {
  const bytes = Math.max(1, Math.min(size, PLAIN_SEGMENT_BYTES));
  return size <= bytes ? [new Uint8Array(bytes)] : [new Uint8Array(bytes), new Uint8Array(bytes)];
}

async function openForWriting(path: string, wantDirect: boolean): Promise<{ fd: number; direct: boolean }> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
  if (wantDirect && constants.O_DIRECT) {
    try {
      return { fd: await openFile(path, flags | constants.O_DIRECT, 0o600), direct: true };
    } catch (error) {
      // tmpfs and some network filesystems know no O_DIRECT.
      if ((error as NodeJS.ErrnoException).code !== 'EINVAL') throw error;
    }
  }
  return { fd: await openFile(path, flags & ~constants.O_EXCL, 0o600), direct: false };
}

class Reception {
  readonly #fd: number;
  readonly #volume: Volume;
  readonly #direct: boolean;
  readonly #hash = createHash('sha256');
  #received = 0;
  #written = 0;

  constructor(fd: number, volume: Volume, direct: boolean) {
    this.#fd = fd;
    this.#volume = volume;
    this.#direct = direct;
  }

  async run(body: Readable, segments: Uint8Array<ArrayBuffer>[]): Promise<void> {
    const writes: Promise<void>[] = segments.map(() => Promise.resolve());
    let current = 0;
    let filled = 0;
    const flush = () => {
      const write = this.#write(segments[current]!, filled);
      // It is awaited before its segment is used again, or at the end; until then it must not count as unhandled.
      write.catch(() => undefined);
      writes[current] = write;
      current = (current + 1) % segments.length;
      filled = 0;
    };
    try {
      for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        this.#received += chunk.length;
        if (this.#received > this.#volume.size) {
          throw new VolumeRejected(`volume is longer than ${this.#volume.size} bytes`);
        }
        for (let from = 0; from < chunk.length; ) {
          if (filled === 0) await writes[current];
          const segment = segments[current]!;
          const piece = Math.min(chunk.length - from, segment.length - filled);
          segment.set(piece === chunk.length ? chunk : chunk.subarray(from, from + piece), filled);
          filled += piece;
          from += piece;
          if (filled === segment.length) flush();
        }
      }
      if (filled > 0) flush();
    } finally {
      await Promise.all(writes);
    }
    if (this.#received !== this.#volume.size) {
      throw new VolumeRejected(`volume has ${this.#received} bytes instead of ${this.#volume.size}`);
    }
    if (this.#hash.digest('hex') !== this.#volume.sha256) {
      throw new VolumeRejected('SHA-256 of the volume differs from its specification');
    }
    if (this.#written !== this.#volume.size) await truncate(this.#fd, this.#volume.size);
  }

  async #write(segment: Uint8Array<ArrayBuffer>, length: number): Promise<void> {
    this.#hash.update(length === segment.length ? segment : segment.subarray(0, length));
    const position = this.#written;
    // O_DIRECT writes whole pages; what is past the end is cut off afterwards.
    const bytes = this.#direct ? Math.ceil(length / PAGE_BYTES) * PAGE_BYTES : length;
    this.#written += bytes;
    for (let done = 0; done < bytes; ) {
      const { bytesWritten } = await write(this.#fd, segment, done, bytes - done, position + done);
      done += bytesWritten;
    }
  }
}
