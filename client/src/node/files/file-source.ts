import { type BigIntStats, closeSync, constants, existsSync, fstatSync, openSync, read } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { FileChangedError, SzafaError } from '../../errors.ts';
import type { Source } from '../../transfers/upload/source.ts';
import { diskPath } from './disk-path.ts';
import { exactTime } from './times.ts';

const readAsync = promisify(read);

/** Longest tick of the clock for file times: two writes within one tick leave the same time. */
const TICK_NS = 20_000_000n;
/** The same for file systems that store whole seconds; FAT even has steps of two seconds. */
const COARSE_TICK_NS = 2_100_000_000n;

/** Returns a text that changes with the file. Includes the ctime, which only root can reset after a write. */
function identityOf(stats: BigIntStats): string {
  return [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(':');
}

function isFresh({ ctimeNs }: BigIntStats): boolean {
  const tick = ctimeNs % 1_000_000_000n === 0n ? COARSE_TICK_NS : TICK_NS;
  return BigInt(Date.now()) * 1_000_000n - ctimeNs < tick;
}

/** Size of the smallest hole. */
const BLOCK = 4096n;

/**
 * A file on disk. Worker threads can read from its plain descriptor. Only reads are asynchronous: the other calls take microseconds, and
 * waiting for a thread would dominate the work for small files. @public
 */
export class FileSource implements Source {
  readonly place: string;
  readonly fd: number;
  #stats: BigIntStats;
  /** Written so recently that another write could leave the same times. */
  #isFresh: boolean;
  /** Last modification, in milliseconds since 1970, rounded. */
  readonly mtime: number;
  /** Nanoseconds to add to `mtime`. */
  readonly nanos: number | undefined;
  /** Permission bits; undefined on Windows. */
  readonly mode: number | undefined;
  #open = true;

  private constructor(place: string, fd: number, stats: BigIntStats) {
    this.place = place;
    this.fd = fd;
    this.#stats = stats;
    this.#isFresh = isFresh(stats);
    const { mtime, nanos } = exactTime(stats.mtimeNs);
    this.mtime = mtime;
    this.nanos = nanos;
    this.mode = process.platform === 'win32' ? undefined : Number(stats.mode) & 0o777;
  }

  get size(): number {
    return Number(this.#stats.size);
  }

  /** Whether the file has other hard links. */
  get isLinked(): boolean {
    return this.#stats.nlink > 1n;
  }

  /** Whether the file has holes. */
  get sparse(): boolean {
    const { size, blocks } = this.#stats;
    return size - blocks * 512n >= BLOCK;
  }

  begin(): void {
    this.#stats = fstatSync(this.fd, { bigint: true });
    this.#isFresh = isFresh(this.#stats);
  }

  /** Computed on demand: most files of a large folder are already stored and do not need it. */
  get identity(): string {
    return identityOf(this.#stats);
  }

  /** Wraps a file that is already open. */
  static of(path: string, fd: number): FileSource {
    return new FileSource(path, fd, fstatSync(fd, { bigint: true }));
  }

  static async open(path: string): Promise<FileSource> {
    // O_NONBLOCK keeps a pipe without a writer from blocking.
    const fd = openSync(diskPath(path), constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stats = fstatSync(fd, { bigint: true });
      if (!stats.isFile()) throw new SzafaError('not-a-file', `${path} is not a regular file`);
      return new FileSource(resolve(path), fd, stats);
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(length);
    for (let at = 0; at < length; ) {
      const { bytesRead } = await readAsync(this.fd, bytes, at, length - at, offset + at);
      if (bytesRead === 0) throw new FileChangedError('the file became shorter while it was being uploaded');
      at += bytesRead;
    }
    return bytes;
  }

  async check(): Promise<void> {
    const before = this.#stats;
    const now = fstatSync(this.fd, { bigint: true });
    if (identityOf(now) === this.identity) {
      if (this.#isFresh) throw new FileChangedError(undefined, 'touched');
      return;
    }
    if (now.nlink === 0n && before.nlink > 0n) {
      if (existsSync(this.place))
        throw new FileChangedError('the file was replaced while it was being uploaded');
      throw new FileChangedError('the file was removed while it was being uploaded', 'removed');
    }
    if (now.size > before.size)
      throw new FileChangedError('the file grew while it was being uploaded', 'grown');
    const isTouched = now.size === before.size && now.mtimeNs === before.mtimeNs;
    throw new FileChangedError(undefined, isTouched ? 'touched' : 'changed');
  }

  extends(identity: string): boolean {
    const [dev, ino, size] = identity.split(':');
    const { dev: ownDev, ino: ownIno } = this.#stats;
    return dev === String(ownDev) && ino === String(ownIno) && Number(size) < this.size;
  }

  async close(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    closeSync(this.fd);
  }
}

/**
 * Opens a file for an upload; close it afterwards.
 * @throws SzafaError with code `not-a-file` @public
 */
export function fileSource(path: string): Promise<FileSource> {
  return FileSource.open(path);
}
