import { lstatSync, readFileSync, readlinkSync, type Stats, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { type Attributes, diskPath, exactTime, givenPath, namesIn, pathText } from '@szafa/client/node';
import { CliError } from '../../errors.ts';
import { type Exclusions, IGNORE_FILE } from './exclude.ts';

/** Names with the same `inode` are hard links to one file. A folder is yielded after the files directly in it. */
export type FileKind =
  | { kind: 'file'; inode?: string }
  | { kind: 'link'; target: string }
  | { kind: 'folder'; isEmpty: boolean; attributes: Attributes };

export type LocalFile = FileKind & {
  path: string;
  /** The file's name, or its path below the given folder. A folder's ends in `/`. */
  name: string;
  size: number;
  /** Name of the given folder that contains the file. Absent if the file itself was given. */
  folder?: string;
  /** The path of that folder. */
  root?: string;
};

export interface WalkHandlers {
  /** Called for a file or folder that cannot be read; the walk continues. */
  fail(error: unknown, path: string): void;
  /** Called for a pipe, socket or device. */
  skip(path: string, what: string): void;
  /** Called for an excluded file or folder, but not for the content of an excluded folder. */
  exclude(path: string): void;
}

function describeSpecial(stats: Stats): string {
  if (stats.isFIFO()) return 'a pipe';
  if (stats.isSocket()) return 'a socket';
  return 'a device';
}

/** Reads the time and mode of a folder; on Windows only the time. */
function attributesOf(folder: string): Attributes {
  const { mode, mtimeNs } = statSync(diskPath(folder), { bigint: true });
  const bits = Number(mode);
  const special = (bits >> 9) & 7;
  if (process.platform === 'win32') return exactTime(mtimeNs);
  return { ...exactTime(mtimeNs), mode: bits & 0o777, ...(special > 0 && { special }) };
}

/** A folder still to be read. `below` is its path below the given folder. */
interface PendingFolder {
  path: string;
  below: string;
  exclusions: Exclusions;
}

/** Yields a file, or everything below a folder, in a stable order. Follows a symbolic link only if it was given as an argument. */
export async function* walk(
  given: string,
  exclusions: Exclusions,
  handlers: WalkHandlers,
): AsyncGenerator<LocalFile> {
  const path = givenPath(given);
  const stats = await stat(diskPath(path));
  const root = resolve(path);
  const top = basename(root) || 'root';
  if (!stats.isDirectory()) {
    if (!stats.isFile()) {
      const hint = stats.isFIFO() ? 'pipe it in: … | szafa put - --name NAME' : 'name files or folders';
      throw new CliError('not-a-file', `is ${describeSpecial(stats)}`, hint);
    }
    if (exclusions.has(top)) handlers.exclude(path);
    else yield { kind: 'file', path, name: top, size: stats.size, ...inodeOf(stats) };
    return;
  }
  const pending: PendingFolder[] = [{ path, below: '', exclusions }];
  for (let at = pending.pop(); at; at = pending.pop()) {
    const folders: PendingFolder[] = [];
    for (const found of await readFolder(at, folders, handlers)) yield { ...found, folder: top, root };
    pending.push(...folders.reverse());
  }
}

/** Identifies a file with several hard links. */
const inodeOf = ({ nlink, dev, ino }: Stats) => (nlink > 1 ? { inode: `${dev}:${ino}` } : {});

/** Reads one folder and adds its subfolders to `folders`. */
async function readFolder(
  { path, below, exclusions: above }: PendingFolder,
  folders: PendingFolder[],
  handlers: WalkHandlers,
): Promise<LocalFile[]> {
  const all: LocalFile[] = [];
  let names: string[];
  let exclusions = above;
  try {
    names = await namesIn(path);
    // If the ignore file cannot be read, skip the whole folder: files that it excludes must not be uploaded.
    if (names.includes(IGNORE_FILE)) exclusions = withIgnoreFile(path, below, above);
  } catch (error) {
    handlers.fail(error, path);
    return all;
  }
  let isEmpty = true;
  for (const name of names) {
    const inner = join(path, name);
    try {
      // Synchronous is faster here: a thread switch takes longer than the call.
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
      } else handlers.skip(inner, describeSpecial(found));
    } catch (error) {
      isEmpty = false;
      handlers.fail(error, inner);
    }
  }
  // A folder with only excluded files is uploaded as an empty folder.
  try {
    all.push({ kind: 'folder', isEmpty, attributes: attributesOf(path), path, name: below, size: 0 });
  } catch (error) {
    handlers.fail(error, path);
  }
  return all;
}

function withIgnoreFile(folder: string, below: string, above: Exclusions): Exclusions {
  const path = join(folder, IGNORE_FILE);
  return lstatSync(diskPath(path)).isFile()
    ? above.within(below, readFileSync(diskPath(path), 'utf8'))
    : above;
}
