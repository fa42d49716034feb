import { lstatSync, type Stats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { CliError } from './errors.ts';

/** A file to upload. */
export interface Found {
  path: string;
  /** Its name on the service; below a folder with `/`. */
  name: string;
  size: number;
  /** The folder it was found in by name, unless it was named itself. */
  folder?: string;
  /** The path of that folder. */
  root?: string;
}

export interface WalkHandlers {
  /** Cannot be read; the walk goes on. */
  fail(error: unknown, path: string): void;
  /** Neither a file nor a folder with something in it. */
  skip(path: string, what: string): void;
}

function kindOf(stats: Stats): string {
  if (stats.isSymbolicLink()) return 'a symbolic link';
  if (stats.isFIFO()) return 'a pipe';
  if (stats.isSocket()) return 'a socket';
  return 'a device';
}

/**
 * Node decodes names; bytes that are not UTF-8 cannot be found again under what it makes of them. Synchronously: it takes microseconds,
 * less than the way to a thread and back.
 */
function statOf(path: string, name: string): Stats {
  try {
    return lstatSync(path);
  } catch (error) {
    if (!name.includes('\ufffd') || (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new CliError('not-utf8', 'the name is not UTF-8', 'rename the file');
  }
}

/** The files behind an argument: itself, or all below a folder, in a stable order. Links in folders are left out. */
export async function* walk(path: string, handlers: WalkHandlers): AsyncGenerator<Found> {
  const stats = await stat(path);
  const root = resolve(path);
  const top = basename(root) || 'root';
  if (!stats.isDirectory()) {
    if (!stats.isFile()) {
      const hint = stats.isFIFO() ? 'pipe it in: … | szafa put - --name NAME' : 'name files or folders';
      throw new CliError('not-a-file', `is ${kindOf(stats)}`, hint);
    }
    yield { path, name: top, size: stats.size };
    return;
  }
  const pending: { path: string; below: string }[] = [{ path, below: '' }];
  for (let at = pending.pop(); at; at = pending.pop()) {
    let names: string[];
    try {
      names = (await readdir(at.path)).sort();
    } catch (error) {
      handlers.fail(error, at.path);
      continue;
    }
    if (names.length === 0) handlers.skip(at.path, 'an empty folder, and only files are stored');
    const folders: typeof pending = [];
    for (const name of names) {
      const below = at.below + name;
      const inner = join(at.path, name);
      try {
        const found = statOf(inner, name);
        if (found.isDirectory()) folders.push({ path: inner, below: `${below}/` });
        else if (found.isFile()) yield { path: inner, name: below, size: found.size, folder: top, root };
        else handlers.skip(inner, kindOf(found));
      } catch (error) {
        handlers.fail(error, inner);
      }
    }
    pending.push(...folders.reverse());
  }
}
