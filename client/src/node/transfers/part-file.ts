import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readSync,
  type Stats,
  unlinkSync,
  write,
  writeSync,
} from 'node:fs';
import { promisify } from 'node:util';
import { SzafaError } from '../../errors.ts';
import { diskPath } from '../files/disk-path.ts';

const writeAsync = promisify(write);
const { O_RDWR, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK } = constants;
/** Not on every system. */
const O_DIRECT: number | undefined = constants.O_DIRECT;
const O_DSYNC: number | undefined = constants.O_DSYNC;
const PAGE = 4096;
const ZEROS = Buffer.alloc(PAGE);
/** Less is copied before the way past the page cache would pay. */
const LEAST_DIRECT = 1024 * 1024;
/** As much is copied before a thread would have woken up. A file of no more is written and synced in one call. */
const MOST_AT_ONCE = 256 * 1024;
/** Until a file is whole, and has the mode that goes with it, it is for nobody else. */
const PRIVATE = 0o600;

/**
 * A file that grows from all sides. Large volumes go past the page cache where the filesystem allows it: copying a
 * gigabyte into it costs more than opening that gigabyte, and the disk would only begin at the end.
 */
export class PartFile {
  readonly path: string;
  readonly fd: number;
  /** What is written is on disk. */
  readonly syncs: boolean;
  /** Null where there is no way past the page cache. */
  #direct: number | null | undefined;
  readonly #sparse: boolean;
  /** Nothing but what this process writes is in it. */
  readonly #isNew: boolean;

  /** `resume`: continue what an earlier download left here, if it is sound; otherwise start again. `sparse`: blocks of zeros become holes. */
  constructor(path: string, size: number, { resume = false, sparse = false }: PartOptions = {}) {
    this.path = path;
    this.#sparse = sparse;
    this.syncs = O_DSYNC !== undefined && size > 0 && size <= MOST_AT_ONCE && !sparse;
    const flags = O_RDWR | O_NOFOLLOW | (this.syncs ? O_DSYNC! : 0);
    const left = resume ? openLeft(path, flags) : undefined;
    this.#isNew = left === undefined;
    this.fd = left ?? openNew(path, flags);
    // A hole at the end is part of the file, and what an earlier download left behind the end is not.
    if (sparse) ftruncateSync(this.fd, size);
  }

  async write(bytes: Uint8Array, position: number): Promise<void> {
    if (this.#sparse) return this.#writeSparse(bytes, position);
    const whole = mayGoPast(bytes, position) ? bytes.length - (bytes.length % PAGE) : 0;
    const past = whole > 0 && (await this.#writePast(bytes.subarray(0, whole), position)) ? whole : 0;
    await writeAll(this.fd, bytes.subarray(past), position + past, this.syncs);
  }

  /** Writes runs of blocks; a block of zeros is left out where zeros are read already. */
  async #writeSparse(bytes: Uint8Array, position: number): Promise<void> {
    const blockEnd = (at: number) => Math.min(bytes.length, at + PAGE - ((position + at) % PAGE));
    const isHole = (at: number, end: number) =>
      isZero(bytes.subarray(at, end)) && this.#readsZero(position + at, end - at);
    for (let at = 0; at < bytes.length; ) {
      let end = blockEnd(at);
      if (isHole(at, end)) {
        at = end;
        continue;
      }
      for (let next = blockEnd(end); end < bytes.length && !isHole(end, next); next = blockEnd(end))
        end = next;
      await writeAll(this.fd, bytes.subarray(at, end), position + at);
      at = end;
    }
  }

  #readsZero(position: number, length: number): boolean {
    if (this.#isNew) return true;
    const there = Buffer.alloc(length);
    return readSync(this.fd, there, 0, length, position) === length && isZero(there);
  }

  close(): void {
    closeSync(this.fd);
    if (this.#direct) closeSync(this.#direct);
  }

  /** False where the filesystem takes it only the usual way. */
  async #writePast(bytes: Uint8Array, position: number): Promise<boolean> {
    if (this.#direct === undefined) this.#direct = openDirect(this.path, this.fd);
    if (this.#direct === null) return false;
    try {
      await writeAll(this.#direct, bytes, position);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EINVAL') throw error;
      return false;
    }
  }
}

interface PartOptions {
  resume?: boolean;
  sparse?: boolean | undefined;
}

const isZero = (block: Uint8Array) => ZEROS.compare(block, 0, block.length, 0, block.length) === 0;

/** Only memory that could grow is known to begin at a page. */
function mayGoPast({ buffer, byteOffset, length }: Uint8Array, position: number): boolean {
  const onPage = buffer instanceof SharedArrayBuffer && buffer.growable && byteOffset % PAGE === 0;
  return onPage && position % PAGE === 0 && length >= LEAST_DIRECT;
}

const isOwn = ({ uid }: Stats) => uid === (process.geteuid?.() ?? uid);

/**
 * What is there goes only if it is ours. In a folder that others share, the plaintext must neither be led elsewhere by
 * a link nor go into a file that somebody else made and can read.
 */
function openNew(path: string, flags: number): number {
  const left = lstatSync(diskPath(path), { throwIfNoEntry: false });
  if (left) {
    if (!isOwn(left) || !(left.isFile() || left.isSymbolicLink())) throw notOwn(path);
    unlinkSync(diskPath(path));
  }
  try {
    return openSync(diskPath(path), flags | O_CREAT | O_EXCL, PRIVATE);
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? notOwn(path) : error;
  }
}

/** The file that an earlier download left; undefined where it can have been in other hands. */
function openLeft(path: string, flags: number): number | undefined {
  let fd: number;
  try {
    fd = openSync(diskPath(path), flags | O_NONBLOCK); // a pipe has nobody at its other end
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ELOOP' || code === 'EACCES' || code === 'ENXIO') return undefined;
    throw error;
  }
  const stats = fstatSync(fd);
  if (stats.isFile() && stats.nlink === 1 && isOwn(stats)) {
    fchmodSync(fd, PRIVATE);
    return fd;
  }
  closeSync(fd);
  return undefined;
}

function notOwn(path: string): SzafaError {
  return new SzafaError('not-own', `${path} is in the way and is not yours`);
}

/** The same file once more; null where the filesystem has no such way, or the path leads to another one by now. */
function openDirect(path: string, own: number): number | null {
  if (O_DIRECT === undefined) return null;
  try {
    const fd = openSync(diskPath(path), O_WRONLY | O_NOFOLLOW | O_DIRECT);
    const [a, b] = [fstatSync(fd), fstatSync(own)];
    if (a.ino === b.ino && a.dev === b.dev) return fd;
    closeSync(fd);
    return null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EINVAL') throw error;
    return null;
  }
}

async function writeAll(fd: number, bytes: Uint8Array, position: number, syncs = false): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const left = bytes.length - at;
    at +=
      left <= MOST_AT_ONCE && !syncs
        ? writeSync(fd, bytes, at, left, position + at)
        : (await writeAsync(fd, bytes, at, left, position + at)).bytesWritten;
  }
}
