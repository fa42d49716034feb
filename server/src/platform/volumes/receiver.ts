import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { promisify } from 'node:util';
import type { Volume } from '@szafa/protocol';
import { VolumeRejected } from '../errors.ts';
import type { Body, Sink } from './body.ts';
import { PAGE_BYTES, type Segment, type SegmentPool } from './segments.ts';

const write = promisify(fs.write);
const truncate = promisify(fs.ftruncate);
const datasync = promisify(fs.fdatasync);
const { O_WRONLY, O_CREAT, O_EXCL, O_DIRECT, O_DSYNC } = fs.constants;

/** Volumes up to this size are written in one durable call; page alignment would cost more than it saves. */
const SMALL_BYTES = 128 * 1024;
const PLAIN_SEGMENT_BYTES = 64 * 1024;

/**
 * Receives a volume into `path` and checks its size and SHA-256. The bytes are on disk when this resolves. One segment is
 * filled while the other is written, past the page cache (O_DIRECT) where the filesystem supports it.
 */
export async function receive(path: string, volume: Volume, body: Body, pool: SegmentPool): Promise<void> {
  const small = volume.size <= SMALL_BYTES;
  const lease = small ? undefined : pool.lease();
  try {
    const { fd, direct } = small
      ? { fd: fs.openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_DSYNC, 0o600), direct: false }
      : openForWriting(path, lease !== undefined);
    try {
      const fileSink = new FileSink(fd, volume, lease ?? ownSegments(volume.size), direct);
      try {
        await body.pour(fileSink);
      } finally {
        await fileSink.settled();
      }
      await fileSink.verify();
      // An empty volume was not written.
      if (!small || volume.size === 0) await datasync(fd);
    } finally {
      fs.closeSync(fd);
    }
  } finally {
    if (lease) pool.release(lease);
  }
}

function ownSegments(size: number): Segment[] {
  // One byte more than the volume, to notice a body that is too long.
  if (size <= SMALL_BYTES) return [new Uint8Array(size + 1)];
  return [new Uint8Array(PLAIN_SEGMENT_BYTES), new Uint8Array(PLAIN_SEGMENT_BYTES)];
}

function openForWriting(path: string, wantDirect: boolean): { fd: number; direct: boolean } {
  if (wantDirect && O_DIRECT) {
    try {
      return { fd: fs.openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_DIRECT, 0o600), direct: true };
    } catch (error) {
      // tmpfs and some network filesystems lack O_DIRECT; they may have created the file all the same.
      if ((error as NodeJS.ErrnoException).code !== 'EINVAL') throw error;
    }
  }
  return { fd: fs.openSync(path, O_WRONLY | O_CREAT, 0o600), direct: false };
}

class FileSink implements Sink {
  readonly #fd: number;
  readonly #volume: Volume;
  readonly #segments: Segment[];
  readonly #writes: (Promise<void> | undefined)[];
  readonly #direct: boolean;
  readonly #hash = createHash('sha256');
  #current = 0;
  #filled = 0;
  #received = 0;
  #written = 0;

  constructor(fd: number, volume: Volume, segments: Segment[], direct: boolean) {
    this.#fd = fd;
    this.#volume = volume;
    this.#segments = segments;
    this.#writes = segments.map(() => undefined);
    this.#direct = direct;
  }

  target(): Uint8Array {
    return this.#segments[this.#current]!.subarray(this.#filled);
  }

  advance(count: number): Promise<void> | undefined {
    this.#received += count;
    this.#filled += count;
    if (this.#received > this.#volume.size) {
      throw new VolumeRejected('size', `volume is longer than ${this.#volume.size} bytes`);
    }
    if (this.#filled < this.#segments[this.#current]!.length) return undefined;
    this.#flush();
    return this.#writes[this.#current];
  }

  /** Resolves when no write is running; the segments are free. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#writes);
  }

  async verify(): Promise<void> {
    if (this.#received !== this.#volume.size) {
      throw new VolumeRejected('size', `volume has ${this.#received} bytes instead of ${this.#volume.size}`);
    }
    if (this.#filled > 0) this.#flush();
    // All must end before the descriptor is closed, also if one fails.
    await this.settled();
    await Promise.all(this.#writes);
    if (this.#hash.digest('hex') !== this.#volume.sha256) {
      throw new VolumeRejected('digest', 'the SHA-256 of the volume differs from the declared one');
    }
    if (this.#written !== this.#volume.size) await truncate(this.#fd, this.#volume.size);
  }

  #flush(): void {
    const written = this.#write(this.#segments[this.#current]!, this.#filled);
    // Awaited later; until then a rejection must not count as unhandled.
    written.catch(() => undefined);
    this.#writes[this.#current] = written;
    this.#current = (this.#current + 1) % this.#segments.length;
    this.#filled = 0;
  }

  async #write(segment: Segment, length: number): Promise<void> {
    this.#hash.update(segment.subarray(0, length));
    const position = this.#written;
    // O_DIRECT writes whole pages; `verify` truncates the file afterwards.
    const bytes = this.#direct ? Math.ceil(length / PAGE_BYTES) * PAGE_BYTES : length;
    this.#written += bytes;
    for (let done = 0; done < bytes; ) {
      const { bytesWritten } = await write(this.#fd, segment, done, bytes - done, position + done);
      done += bytesWritten;
    }
  }
}
