import { lstatSync, readFileSync, readlinkSync, type Stats, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { type Attributes, diskPath, exactTime, givenPath, namesIn, pathText } from '@szafa/client/node';
import { CliError } from '../../errors.ts';
import { type Exclusions, IGNORE_FILE } from './exclude.ts';

/** `inode`: names with the same one are one file. A symbolic link keeps its target. A folder comes after what is in it. */
export type Kind =
  | { kind: 'file'; inode?: string }
  | { kind: 'link'; target: string }
  | { kind: 'folder'; isEmpty: boolean; attributes: Attributes };

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

/** A system without modes has none to tell. */
function attributesOf(folder: string): Attributes {
  const { mode, mtimeNs } = statSync(diskPath(folder), { bigint: true });
  const bits = Number(mode);
  const special = (bits >> 9) & 7;
  if (process.platform === 'win32') return exactTime(mtimeNs);
  return { ...exactTime(mtimeNs), mode: bits & 0o777, ...(special > 0 && { special }) };
}

/** A folder that is still to be read: its path, and below the folder that was named. */
interface Pending {
  path: string;
  below: string;
  exclusions: Exclusions;
}

/** What is behind an argument: itself, or all below a folder, in a stable order. A link that is named is followed, those in folders are kept. */
export async function* walk(
  given: string,
  exclusions: Exclusions,
  handlers: WalkHandlers,
): AsyncGenerator<Found> {
  const path = givenPath(given);
  const stats = await stat(diskPath(path));
  const root = resolve(path);
  const top = basename(root) || 'root';
  if (!stats.isDirectory()) {
    if (!stats.isFile()) {
      const hint = stats.isFIFO() ? 'pipe it in: … | szafa put - --name NAME' : 'name files or folders';
      throw new CliError('not-a-file', `is ${kindOf(stats)}`, hint);
    }
    if (exclusions.has(top)) handlers.exclude(path);
    else yield { kind: 'file', path, name: top, size: stats.size, ...inodeOf(stats) };
    return;
  }
  const pending: Pending[] = [{ path, below: '', exclusions }];
  for (let at = pending.pop(); at; at = pending.pop()) {
    const folders: Pending[] = [];
    for (const found of await within(at, folders, handlers)) yield { ...found, folder: top, root };
    pending.push(...folders.reverse());
  }
}

/** Of a file with several names. */
const inodeOf = ({ nlink, dev, ino }: Stats) => (nlink > 1 ? { inode: `${dev}:${ino}` } : {});

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
    names = await namesIn(path);
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
      // Synchronously: it takes microseconds, less than the way to a thread and back.
      const found = lstatSync(diskPath(inner));
      const isFolder = found.isDirectory();
      const full = below + name + (isFolder ? '/' : '');
      if (exclusions.has(full)) {
        handlers.exclude(inner);
        continue;
      }
      isEmpty = false;
      if (isFolder) folders.push({ path: inner, below: full, exclusions });
      else if (found.isFile()) {
        all.push({ kind: 'file', path: inner, name: full, size: found.size, ...inodeOf(found) });
      } else if (found.isSymbolicLink()) {
        const target = pathText(readlinkSync(diskPath(inner), { encoding: 'buffer' }));
        all.push({ kind: 'link', target, path: inner, name: full, size: 0 });
      } else handlers.skip(inner, kindOf(found));
    } catch (error) {
      isEmpty = false;
      handlers.fail(error, inner);
    }
  }
  // A folder that has everything in it left out is wanted empty.
  try {
    all.push({ kind: 'folder', isEmpty, attributes: attributesOf(path), path, name: below, size: 0 });
  } catch (error) {
    handlers.fail(error, path);
  }
  return all;
}

function withFileOf(folder: string, below: string, above: Exclusions): Exclusions {
  const path = join(folder, IGNORE_FILE);
  return lstatSync(diskPath(path)).isFile()
    ? above.within(below, readFileSync(diskPath(path), 'utf8'))
    : above;
}
