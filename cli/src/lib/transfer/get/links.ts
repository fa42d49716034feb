import { linkSync, lstatSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { diskPath, type KeptTime, pathText, setLinkTime } from '@szafa/client/node';
import { CliError } from '../../../errors.ts';
import { oneLine } from '../../print/text.ts';
import { hiddenName, inTheWay } from './disk.ts';

/**
 * That a link leads to nothing outside of `top`, whatever else is there. Where `..` stands behind a name, that name may be a link itself,
 * and the way back from it leads elsewhere than the text says.
 */
export function checkLink(path: string, target: string, top: string): void {
  const names = target.split('/').filter((name) => name !== '' && name !== '.');
  const lastUp = names.lastIndexOf('..');
  const isPlain = lastUp < 0 || names.slice(0, lastUp).every((name) => name === '..');
  const to = relative(resolve(top), resolve(dirname(path), target));
  const isOutside = to === '..' || to.startsWith(`..${sep}`) || resolve(to) === to;
  if (target !== '' && !target.includes('\0') && isPlain && !isOutside) return;
  const where = target === '' ? 'something' : `${oneLine(target)}, which is`;
  const message = `is a link to ${where} outside of what is downloaded: it was not made`;
  // Without its name, which is somebody else's, and not for a shell.
  const hint =
    target === ''
      ? 'ask its owner to share what it leads to'
      : 'if you trust it, make it yourself: ln -s TARGET NAME';
  throw new CliError('link-outside', message, hint);
}

export type LinkState = 'absent' | 'same' | 'other';

export function linkState(path: string, target: string): LinkState {
  const stats = lstatSync(diskPath(path), { throwIfNoEntry: false });
  if (!stats) return 'absent';
  if (!stats.isSymbolicLink()) return 'other';
  return pathText(readlinkSync(diskPath(path), { encoding: 'buffer' })) === target ? 'same' : 'other';
}

const LINKLESS = new Set(['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP']);

/** Under its name at once, as files are; a folder is never replaced. */
export function makeLink(
  path: string,
  target: string,
  { time, overwrite }: { time: KeptTime; overwrite: boolean },
): void {
  // Not with its name in it, which may be as long as a disk has them.
  const made = join(dirname(path), hiddenName());
  try {
    symlinkSync(diskPath(target), diskPath(made));
  } catch (cause) {
    if (!LINKLESS.has((cause as NodeJS.ErrnoException).code ?? '')) throw cause;
    const hint = 'choose another place with --output';
    throw new CliError('no-links', 'this disk has no symbolic links', hint, 1, { cause });
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

/** Another name for a file; false where that is another one by now, or the disk has no such names. */
export function makeHardLink(file: WrittenFile, path: string, overwrite: boolean): boolean {
  const made = join(dirname(path), hiddenName());
  try {
    linkSync(diskPath(file.path), diskPath(made));
  } catch {
    return false; // it is downloaded instead, and that tells what is wrong
  }
  try {
    const { dev, ino } = writtenFile(made);
    if (dev !== file.dev || ino !== file.ino) return false;
    putInPlace(made, path, overwrite);
    return true;
  } finally {
    // Renamed, it is gone; onto another name of the same file nothing is renamed.
    rmSync(diskPath(made), { force: true });
  }
}
