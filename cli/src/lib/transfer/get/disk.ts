/** What a disk can do, by trying it: only the disk knows. Nothing here follows a link. */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import {
  type Attributes,
  diskPath,
  exactTime,
  pathText,
  setTime,
  TargetExistsError,
} from '@szafa/client/node';
import { CliError } from '../../../errors.ts';
import { oneLine } from '../../print/text.ts';

/** Closed, and with a bit that says whose work it is: a folder that is found so was left by a get that was cut off. */
const UNFINISHED = 0o1700;
const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
/** What a disk says to a name that it cannot have. */
const IMPOSSIBLE = new Set(['ENOENT', 'EINVAL', 'EILSEQ', 'ENAMETOOLONG']);

/** Something hidden and new in a folder. */
export const hiddenName = () => `.szafa-${randomBytes(6).toString('hex')}`;

/** In a new folder in this one, whose time stays as it was: nothing has changed in it. */
function inScratch<T>(folder: string, work: (scratch: string) => T): T {
  const scratch = join(folder, hiddenName());
  const fd = openSync(diskPath(folder), O_RDONLY | O_DIRECTORY);
  try {
    const { mtimeNs } = fstatSync(fd, { bigint: true });
    mkdirSync(diskPath(scratch), { mode: 0o700 });
    try {
      return work(scratch);
    } finally {
      rmdirSync(diskPath(scratch));
      if (process.platform !== 'win32') setTime(fd, exactTime(mtimeNs));
    }
  } finally {
    closeSync(fd);
  }
}

function withFile<T>(path: string, work: () => T): T {
  writeFileSync(diskPath(path), '', { flag: 'wx' });
  try {
    return work();
  } finally {
    rmSync(diskPath(path));
  }
}

export function namesOf(folder: string): Set<string> {
  try {
    return new Set(readdirSync(diskPath(folder), { encoding: 'buffer' }).map(pathText));
  } catch {
    return new Set(); // a folder may be open only to those who know the names in it
  }
}

/** Whether a folder can have this name, as it is. */
export function hasName(folder: string, name: string): boolean {
  try {
    return inScratch(folder, (scratch) => withFile(join(scratch, name), () => namesOf(scratch).has(name)));
  } catch (error) {
    // If nothing can be written, the first file reports it.
    return !IMPOSSIBLE.has((error as NodeJS.ErrnoException).code ?? '');
  }
}

/** Whether the disk takes each two of these names for one; undefined where nothing can be written. */
export function areOne(folder: string, pairs: readonly (readonly [string, string])[]): boolean | undefined {
  const isOne = (scratch: string, one: string, other: string) =>
    withFile(join(scratch, one), () => isThere(join(scratch, other)));
  try {
    return inScratch(folder, (scratch) => pairs.every(([one, other]) => isOne(scratch, one, other)));
  } catch {
    return undefined;
  }
}

const statOf = (path: string) => lstatSync(diskPath(path), { throwIfNoEntry: false });
const isThere = (path: string) => statOf(path) !== undefined;

/** Without trying: there is something by this name, and it has another one. */
export const isOther = (path: string) => isThere(path) && !namesOf(dirname(path)).has(basename(path));

/** Whether it is a folder, and no link to one. */
export const isFolder = (path: string) => statOf(path)?.isDirectory() ?? false;

/** What is at the place of something that is to be written. */
export function inTheWay(path: string): Error {
  if (!isFolder(path)) return new TargetExistsError(path);
  const hint = 'move the folder away, or choose another place with --output';
  return new CliError('folder-in-the-way', `${oneLine(path)} is a folder`, hint);
}

/** Makes a folder where there is none; `closed`: for nobody else until `finishFolder`. True if it was made, or is unfinished from before. */
export function makeHere(path: string, closed: boolean): boolean {
  try {
    mkdirSync(diskPath(path), { mode: closed ? UNFINISHED : 0o777 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const stats = lstatSync(diskPath(path));
    if (stats.isDirectory()) return closed && (stats.mode & 0o7777) === UNFINISHED;
    if (!stats.isSymbolicLink()) throw Object.assign(error as Error, { code: 'ENOTDIR' });
    const message = `${oneLine(path)} is a symbolic link, and nothing is written through one`;
    const hint = 'remove the link, or give --output the folder it leads to';
    throw new CliError('through-link', message, hint, 1, { cause: error });
  }
}

/** Gives a folder that `makeHere` made its times and its mode: as the umask says where it has none. Setuid means nothing on a folder. */
export function finishFolder(path: string, attributes: Attributes): void {
  const { mode = 0o777 & ~process.umask(), special = 0 } = attributes;
  const fd = openSync(diskPath(path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    setTime(fd, attributes);
    const bits = mode | ((special & 3) << 9);
    if ((fstatSync(fd).mode & 0o7777) !== bits) fchmodSync(fd, bits);
  } finally {
    closeSync(fd);
  }
}
