import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { diskPath } from './disk-path.ts';

/** Creates a folder and its parents. Node's `recursive` option never returns if a parent allows no new entries, as in /proc. @public */
export function makeLocalFolder(path: string, mode = 0o777): void {
  const missing: string[] = [];
  for (let at = resolve(path); !isFolder(at); at = dirname(at)) missing.push(at);
  for (const folder of missing.reverse()) {
    try {
      mkdirSync(diskPath(folder), { mode });
    } catch (error) {
      // Another process may have created it in the meantime.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !isFolder(folder)) throw error;
    }
  }
}

/** @throws ENOTDIR if the path is a file */
function isFolder(path: string): boolean {
  const stats = statSync(diskPath(path), { throwIfNoEntry: false });
  if (stats && !stats.isDirectory()) {
    const error = new Error(`ENOTDIR: not a directory, mkdir '${path}'`);
    throw Object.assign(error, { code: 'ENOTDIR', syscall: 'mkdir', path });
  }
  return stats !== undefined;
}
