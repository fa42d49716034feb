import { randomBytes } from 'node:crypto';
import { lstatSync, lutimesSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { TargetExistsError } from '@szafa/client/node';
import { CliError } from '../errors.ts';
import { oneLine } from '../text.ts';

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
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats) return 'absent';
  return stats.isSymbolicLink() && readlinkSync(path) === target ? 'same' : 'other';
}

const LINKLESS = new Set(['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP']);

/** Under its name at once, as files are; a folder is never replaced. */
export function makeLink(
  path: string,
  target: string,
  { mtime, overwrite }: { mtime: number | undefined; overwrite: boolean },
): void {
  // Not with its name in it, which may be as long as a disk has them.
  const made = join(dirname(path), `.szafa-${randomBytes(6).toString('hex')}`);
  try {
    symlinkSync(target, made);
  } catch (cause) {
    if (!LINKLESS.has((cause as NodeJS.ErrnoException).code ?? '')) throw cause;
    const hint = 'choose another place with --output';
    throw new CliError('no-links', 'this disk has no symbolic links', hint, 1, { cause });
  }
  try {
    if (mtime !== undefined) lutimesSync(made, new Date(), new Date(mtime));
    const there = lstatSync(path, { throwIfNoEntry: false });
    if (there && (!overwrite || there.isDirectory())) throw new TargetExistsError(path);
    renameSync(made, path);
  } catch (error) {
    rmSync(made, { force: true });
    throw error;
  }
}
