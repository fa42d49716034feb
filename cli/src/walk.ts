import { lstatSync, readFileSync, readlinkSync, type Stats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { CliError } from './errors.ts';
import { type Exclusions, IGNORE_FILE } from './exclude.ts';

/** A symbolic link keeps its target; of folders only those are told that would be lost: with nothing in them. */
export type Kind = { kind: 'file' } | { kind: 'link'; target: string } | { kind: 'folder' };

/** Something to upload. */
export type Found = Kind & {
  path: string;
  /** Its name, or its path below the folder that was named; of a folder that itself, with `/` at its end. */
  name: string;
  size: number;
  /** The name of the folder that it was found in, unless it was named itself. */
  folder?: string;
  /** The path of that folder. */
  root?: string;
};

export interface WalkHandlers {
  /** Cannot be read; the walk goes on. */
  fail(error: unknown, path: string): void;
  /** Neither a file, nor a link, nor a folder. */
  skip(path: string, what: string): void;
  /** Left out by a pattern; a folder with all that is in it. */
  exclude(path: string): void;
}

function kindOf(stats: Stats): string {
  if (stats.isFIFO()) return 'a pipe';
  if (stats.isSocket()) return 'a socket';
  return 'a device';
}

function notUtf8(what: string): CliError {
  return new CliError('not-utf8', `${what} is not UTF-8`, 'rename the file');
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
    throw notUtf8('the name');
  }
}

function targetOf(path: string): string {
  const bytes = readlinkSync(path, { encoding: 'buffer' });
  const target = bytes.toString('utf8');
  if (!Buffer.from(target).equals(bytes)) throw notUtf8('the target of the link');
  return target;
}

/** A folder that is still to be read: its path, and below the folder that was named. */
interface Pending {
  path: string;
  below: string;
  exclusions: Exclusions;
}

/** What is behind an argument: itself, or all below a folder, in a stable order. A link that is named is followed, those in folders are kept. */
export async function* walk(
  path: string,
  exclusions: Exclusions,
  handlers: WalkHandlers,
): AsyncGenerator<Found> {
  const stats = await stat(path);
  const root = resolve(path);
  const top = basename(root) || 'root';
  if (!stats.isDirectory()) {
    if (!stats.isFile()) {
      const hint = stats.isFIFO() ? 'pipe it in: … | szafa put - --name NAME' : 'name files or folders';
      throw new CliError('not-a-file', `is ${kindOf(stats)}`, hint);
    }
    if (exclusions.has(top)) handlers.exclude(path);
    else yield { kind: 'file', path, name: top, size: stats.size };
    return;
  }
  const pending: Pending[] = [{ path, below: '', exclusions }];
  for (let at = pending.pop(); at; at = pending.pop()) {
    const folders: Pending[] = [];
    for (const found of await within(at, folders, handlers)) yield { ...found, folder: top, root };
    pending.push(...folders.reverse());
  }
}

/** What is in a folder; the folders in it are left for later. */
async function within(
  { path, below, exclusions: above }: Pending,
  folders: Pending[],
  handlers: WalkHandlers,
): Promise<Found[]> {
  const all: Found[] = [];
  let names: string[];
  let exclusions = above;
  try {
    names = (await readdir(path)).sort();
    // One that cannot be read stops here: what it would leave out must not go up.
    if (names.includes(IGNORE_FILE)) exclusions = withFileOf(path, below, above);
  } catch (error) {
    handlers.fail(error, path);
    return all;
  }
  let isEmpty = true;
  for (const name of names) {
    const inner = join(path, name);
    try {
      const found = statOf(inner, name);
      const isFolder = found.isDirectory();
      const full = below + name + (isFolder ? '/' : '');
      if (exclusions.has(full)) {
        handlers.exclude(inner);
        continue;
      }
      isEmpty = false;
      if (isFolder) folders.push({ path: inner, below: full, exclusions });
      else if (found.isFile()) all.push({ kind: 'file', path: inner, name: full, size: found.size });
      else if (found.isSymbolicLink()) {
        all.push({ kind: 'link', target: targetOf(inner), path: inner, name: full, size: 0 });
      } else handlers.skip(inner, kindOf(found));
    } catch (error) {
      isEmpty = false;
      handlers.fail(error, inner);
    }
  }
  // One of which all is left out is one that is wanted empty.
  if (isEmpty) all.push({ kind: 'folder', path, name: below, size: 0 });
  return all;
}

function withFileOf(folder: string, below: string, above: Exclusions): Exclusions {
  const path = join(folder, IGNORE_FILE);
  return lstatSync(path).isFile() ? above.within(below, readFileSync(path, 'utf8')) : above;
}
