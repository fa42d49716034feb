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
/** Undefined on some systems. */
const O_DIRECT: number | undefined = constants.O_DIRECT;
const O_DSYNC: number | undefined = constants.O_DSYNC;
const PAGE = 4096;
const ZEROS = Buffer.alloc(PAGE);
/** For smaller writes, O_DIRECT costs more than copying into the page cache. */
const LEAST_DIRECT = 1024 * 1024;
/** Up to this size, writing here is faster than waking a thread. A file of at most this size is written and synced in one call. */
const MOST_AT_ONCE = 256 * 1024;
/** Mode of the file until the download is complete. */
const PRIVATE = 0o600;

/**
 * An incomplete download. Its volumes are written in any order. Large volumes bypass the page cache if the file system allows it: copying
 * a gigabyte into the cache costs more than decrypting it, and the disk would only start writing at the end.
 */
export class PartFile {
  readonly path: string;
  readonly fd: number;
  /** Whether every write is synced. */
  readonly syncs: boolean;
  /** A descriptor with O_DIRECT; null if the file system does not support it. */
  #direct: number | null | undefined;
  readonly #sparse: boolean;
  /** Whether the file contains only bytes that this process wrote. */
  readonly #isNew: boolean;

  constructor(path: string, size: number, { resume = false, sparse = false }: PartOptions = {}) {
    this.path = path;
    this.#sparse = sparse;
    this.syncs = O_DSYNC !== undefined && size > 0 && size <= MOST_AT_ONCE && !sparse;
    const flags = O_RDWR | O_NOFOLLOW | (this.syncs ? O_DSYNC! : 0);
    const left = resume ? openExisting(path, flags) : undefined;
    this.#isNew = left === undefined;
    this.fd = left ?? openNew(path, flags);
    // Sets the final size: adds a hole at the end, or removes bytes that an earlier download left there.
    if (sparse) ftruncateSync(this.fd, size);
  }

  async write(bytes: Uint8Array, position: number): Promise<void> {
    if (this.#sparse) return this.#writeSparse(bytes, position);
    const whole = canBypass(bytes, position) ? bytes.length - (bytes.length % PAGE) : 0;
    const direct = whole > 0 && (await this.#writeDirect(bytes.subarray(0, whole), position)) ? whole : 0;
    await writeAll(this.fd, bytes.subarray(direct), position + direct, this.syncs);
  }

  /** Skips blocks of zeros if the file already has zeros there. */
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

  /** Returns false if the file system refuses O_DIRECT. */
  async #writeDirect(bytes: Uint8Array, position: number): Promise<boolean> {
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
  /** Continue the file of an earlier download, if it is safe to use. */
  resume?: boolean;
  /** Turn blocks of zeros into holes. */
  sparse?: boolean | undefined;
}

const isZero = (block: Uint8Array) => ZEROS.compare(block, 0, block.length, 0, block.length) === 0;

/** Whether a write can use O_DIRECT, which needs the page-aligned memory of the pool. */
function canBypass({ buffer, byteOffset, length }: Uint8Array, position: number): boolean {
  const onPage = buffer instanceof SharedArrayBuffer && buffer.growable && byteOffset % PAGE === 0;
  return onPage && position % PAGE === 0 && length >= LEAST_DIRECT;
}

const isOwn = ({ uid }: Stats) => uid === (process.geteuid?.() ?? uid);

/**
 * Creates the file. Removes an existing one only if it belongs to this user: in a shared folder, plaintext must neither follow a link nor
 * go into a file that another user created and can read.
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

/** Opens the file of an earlier download; undefined if another user may have written to it. */
function openExisting(path: string, flags: number): number | undefined {
  let fd: number;
  try {
    fd = openSync(diskPath(path), flags | O_NONBLOCK); // do not block on a pipe
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

/** Opens the same file with O_DIRECT; null if the file system refuses, or if the path now names another file. */
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
