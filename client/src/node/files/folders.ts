import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { diskPath } from './disk-path.ts';

/**
 * Makes a folder and those above it. Node's own `recursive` tries for ever where a parent is there and yet nothing can
 * be made in it, as in /proc. @public
 */
export function makeLocalFolder(path: string, mode = 0o777): void {
  const missing: string[] = [];
  for (let at = resolve(path); !isFolder(at); at = dirname(at)) missing.push(at);
  for (const folder of missing.reverse()) {
    try {
      mkdirSync(diskPath(folder), { mode });
    } catch (error) {
      // Another process may have made it meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !isFolder(folder)) throw error;
    }
  }
}

/** A file where a folder should be is a separate error, and the root always exists. */
function isFolder(path: string): boolean {
  const stats = statSync(diskPath(path), { throwIfNoEntry: false });
  if (stats && !stats.isDirectory()) {
    const error = new Error(`ENOTDIR: not a directory, mkdir '${path}'`);
    throw Object.assign(error, { code: 'ENOTDIR', syscall: 'mkdir', path });
  }
  return stats !== undefined;
}
