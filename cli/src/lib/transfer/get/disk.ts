/** Tests what a disk supports by trying it, and creates folders. No function here follows a symbolic link in the last part of a path. */
import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Attributes } from '@szafa/client/node';
import { diskPath, exactTime, pathText, setTime, TargetExistsError } from '@szafa/client/node';
import { CliError } from '../../../errors.ts';
import { oneLine } from '../../print/text.ts';

/** Mode of a private folder until it is finished. The sticky bit marks folders that an interrupted get left behind. */
const UNFINISHED = 0o1700;
const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = fs.constants;
/** Error codes for a name that the disk does not support. */
const IMPOSSIBLE = new Set(['ENOENT', 'EINVAL', 'EILSEQ', 'ENAMETOOLONG']);

/** Returns a new random hidden name. */
export const hiddenName = () => `.szafa-${randomBytes(6).toString('hex')}`;

/** Runs `work` in a temporary subfolder and restores the folder's modification time. */
function inScratch<T>(folder: string, work: (scratch: string) => T): T {
  const scratch = join(folder, hiddenName());
  const fd = fs.openSync(diskPath(folder), O_RDONLY | O_DIRECTORY);
  try {
    const { mtimeNs } = fs.fstatSync(fd, { bigint: true });
    fs.mkdirSync(diskPath(scratch), { mode: 0o700 });
    try {
      return work(scratch);
    } finally {
      fs.rmdirSync(diskPath(scratch));
      if (process.platform !== 'win32') setTime(fd, exactTime(mtimeNs));
    }
  } finally {
    fs.closeSync(fd);
  }
}

function withFile<T>(path: string, work: () => T): T {
  fs.writeFileSync(diskPath(path), '', { flag: 'wx' });
  try {
    return work();
  } finally {
    fs.rmSync(diskPath(path));
  }
}

export function namesIn(folder: string): Set<string> {
  try {
    return new Set(fs.readdirSync(diskPath(folder), { encoding: 'buffer' }).map(pathText));
  } catch {
    return new Set(); // the folder may be searchable but not readable
  }
}

/** Whether a file in this folder can have exactly this name. */
export function hasName(folder: string, name: string): boolean {
  try {
    return inScratch(folder, (scratch) => withFile(join(scratch, name), () => namesIn(scratch).has(name)));
  } catch (error) {
    // For any other error assume yes: writing the first file reports it.
    return !IMPOSSIBLE.has((error as NodeJS.ErrnoException).code ?? '');
  }
}

/** Whether the disk treats the two names of every pair as the same; undefined if nothing can be written. */
export function areOne(folder: string, pairs: readonly (readonly [string, string])[]): boolean | undefined {
  const isOne = (scratch: string, one: string, other: string) =>
    withFile(join(scratch, one), () => exists(join(scratch, other)));
  try {
    return inScratch(folder, (scratch) => pairs.every(([one, other]) => isOne(scratch, one, other)));
  } catch {
    return undefined;
  }
}

const statOf = (path: string) => fs.lstatSync(diskPath(path), { throwIfNoEntry: false });
const exists = (path: string) => statOf(path) !== undefined;

/** Whether a path exists but is listed under a different spelling. */
export const isOther = (path: string) => exists(path) && !namesIn(dirname(path)).has(basename(path));

/** Whether the path is a folder, not a link to one. */
export const isFolder = (path: string) => statOf(path)?.isDirectory() ?? false;

export function inTheWay(path: string): Error {
  if (!isFolder(path)) return new TargetExistsError(path);
  const hint = 'move the folder away, or choose another place with --output';
  return new CliError('folder-in-the-way', `${oneLine(path)} is a folder`, hint);
}

/** Creates a folder, private until `finishFolder` with `isClosed`. Returns true if it is new or left unfinished by an earlier run. */
export function makeFolder(path: string, isClosed: boolean): boolean {
  try {
    fs.mkdirSync(diskPath(path), { mode: isClosed ? UNFINISHED : 0o777 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const stats = fs.lstatSync(diskPath(path));
    if (stats.isDirectory()) return isClosed && (stats.mode & 0o7777) === UNFINISHED;
    if (!stats.isSymbolicLink()) throw Object.assign(error as Error, { code: 'ENOTDIR' });
    const message = `${oneLine(path)} is a symbolic link, and nothing is written through one`;
    const hint = 'remove the link, or give --output the folder it leads to';
    throw new CliError('through-link', message, hint, { cause: error });
  }
}

/** Sets the time and mode of a folder; the default mode follows the umask. Drops setuid, which has no meaning for a folder. */
export function finishFolder(path: string, attributes: Attributes): void {
  const { mode = 0o777 & ~process.umask(), special = 0 } = attributes;
  const fd = fs.openSync(diskPath(path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    setTime(fd, attributes);
    const bits = mode | ((special & 3) << 9);
    if ((fs.fstatSync(fd).mode & 0o7777) !== bits) fs.fchmodSync(fd, bits);
  } finally {
    fs.closeSync(fd);
  }
}
