import { linkSync, lstatSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { diskPath, type KeptTime, type LocalState, pathText, setLinkTime } from '@szafa/client/node';
import { CliError } from '../../../errors.ts';
import { oneLine } from '../../print/text.ts';
import { hiddenName, inTheWay } from './disk.ts';

/**
 * Refuses a symbolic link whose target text leads outside of `top`. Also refuses `..` after a name: the name may itself be a link, and
 * then `..` would lead somewhere else.
 */
export function checkLink(path: string, target: string, top: string): void {
  const names = target.split('/').filter((name) => name !== '' && name !== '.');
  const lastUp = names.lastIndexOf('..');
  const isPlain = lastUp < 0 || names.slice(0, lastUp).every((name) => name === '..');
  const to = relative(resolve(top), resolve(dirname(path), target));
  const isOutside = to === '..' || to.startsWith(`..${sep}`) || resolve(to) === to;
  if (target !== '' && !target.includes('\0') && isPlain && !isOutside) return;
  const where = target === '' ? 'something' : `${oneLine(target)}, which is`;
  const message = `is a link to ${where} outside of the download: it was not made`;
  // Leave the names out of the hint: another person chose them, and they must not reach a shell.
  const hint =
    target === ''
      ? 'ask its owner to share the file that it leads to'
      : 'if you trust it, make it yourself: ln -s TARGET NAME';
  throw new CliError('link-outside', message, hint);
}

export function linkState(path: string, target: string): LocalState {
  const stats = lstatSync(diskPath(path), { throwIfNoEntry: false });
  if (!stats) return 'absent';
  if (!stats.isSymbolicLink()) return 'other';
  return pathText(readlinkSync(diskPath(path), { encoding: 'buffer' })) === target ? 'same' : 'other';
}

const LINKLESS = new Set(['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP']);

/** Creates a symbolic link and moves it into place. Never replaces a folder. */
export function makeLink(
  path: string,
  target: string,
  { time, overwrite }: { time: KeptTime; overwrite: boolean },
): void {
  // A hidden name that contains the real one could be too long for the disk.
  const made = join(dirname(path), hiddenName());
  try {
    symlinkSync(diskPath(target), diskPath(made));
  } catch (cause) {
    if (!LINKLESS.has((cause as NodeJS.ErrnoException).code ?? '')) throw cause;
    const hint = 'choose another place with --output';
    throw new CliError('no-links', 'this disk has no symbolic links', hint, { cause });
  }
  try {
    setLinkTime(made, time);
    putInPlace(made, path, overwrite);
  } catch (error) {
    rmSync(diskPath(made), { force: true });
    throw error;
  }
}

function putInPlace(made: string, path: string, overwrite: boolean): void {
  const there = lstatSync(diskPath(path), { throwIfNoEntry: false });
  if (there && (!overwrite || there.isDirectory())) throw inTheWay(path);
  renameSync(diskPath(made), diskPath(path));
}

/** A file that this command has written. */
export interface WrittenFile {
  path: string;
  dev: bigint;
  ino: bigint;
}

export function writtenFile(path: string): WrittenFile {
  const { dev, ino } = lstatSync(diskPath(path), { bigint: true });
  return { path, dev, ino };
}

/** Creates a hard link. Returns false if the file has been replaced since it was written, or the disk has no hard links. */
export function makeHardLink(file: WrittenFile, path: string, overwrite: boolean): boolean {
  const made = join(dirname(path), hiddenName());
  try {
    linkSync(diskPath(file.path), diskPath(made));
  } catch {
    return false; // the caller downloads the file instead, which reports any real problem
  }
  try {
    const { dev, ino } = writtenFile(made);
    if (dev !== file.dev || ino !== file.ino) return false;
    putInPlace(made, path, overwrite);
    return true;
  } finally {
    // If `path` was already a link to the same file, rename does nothing and leaves the temporary name.
    rmSync(diskPath(made), { force: true });
  }
}
