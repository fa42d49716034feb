import { stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import type { Attributes } from '@szafa/client/node';
import {
  alike,
  diskPath,
  givenPath,
  makeLocalFolder,
  numberedPath,
  pathText,
  safeSegments,
  segmentsOf,
  withRoom,
} from '@szafa/client/node';
import { limits } from '@szafa/protocol';
import { CliError } from '../../../errors.ts';
import type { Output } from '../../print/output.ts';
import { oneLine } from '../../print/text.ts';
import { areOne, finishFolder, hasName, isFolder, isOther, makeFolder, namesIn } from './disk.ts';

/** Where files are written: to this one file, or below this folder. */
export type Target = { file: string } | { folder: string };

/** Decides whether --output is a file or a folder. `single`: exactly one file is downloaded. */
export async function targetFor(given: string | undefined, single: boolean): Promise<Target> {
  if (given === undefined) return { folder: '.' };
  const output = givenPath(given);
  if (!single || output.endsWith('/')) return { folder: output };
  const isDirectory = await stat(diskPath(output)).then(
    (stats) => stats.isDirectory(),
    () => false, // nothing exists there yet: use it as the file name
  );
  return isDirectory ? { folder: output } : { file: output };
}

/** How many names that differ only in case, for example, are checked on the disk. A share can have any number; the rest are numbered. */
const MOST_ALIKE = 64;
/** Characters that FAT and Windows do not allow in names. */
const UNUSUAL = /[:*?"<>|]/g;

interface DestinationOptions {
  /** Hint for the error that two files would get the same path. */
  hint?: string;
  dryRun?: boolean | undefined;
  /** All files belong to the account: keep their names if the disk supports them. Names from other people are always cleaned. */
  own?: boolean;
  /** Whether a folder is private until `finish` sets its mode. Takes the path below the target. */
  isClosed?: (below: string) => boolean;
}

/** Maps each path on the server to a local path of its own, and creates the folders. */
export class Destination {
  readonly target: Target;
  readonly #out: Output;
  readonly #options: DestinationOptions;
  readonly #own: boolean;
  /** Claimed local paths, with the server paths that they belong to. */
  readonly #taken = new Map<string, string>();
  /** Claimed paths that some disk may treat as the same, by `#keyOf`. */
  readonly #alike = new Map<string, Set<string>>();
  /** Claimed paths to which we added a number. A file that is really called that gets a different number. */
  readonly #numbered = new Set<string>();
  /** The next number to try for a name, by `#keyOf`. */
  readonly #next = new Map<string, number>();
  /** Names in each folder, read once: files written later are not included. */
  readonly #names = new Map<string, Set<string>>();
  /** Folders that exist and were not symbolic links when checked. */
  readonly #folders = new Set<string>();
  /** Local paths of folders that `finish` must complete, by their paths below the target. */
  readonly #unfinished = new Map<string, string>();
  /** Local spelling of each path part. */
  readonly #parts = new Map<string, string>();

  constructor(target: Target, out: Output, options: DestinationOptions = {}) {
    this.target = target;
    this.#out = out;
    this.#options = options;
    // On Windows clean even own names: many would mean a drive or a device.
    this.#own = (options.own ?? false) && process.platform !== 'win32';
  }

  get folder(): string {
    return 'folder' in this.target ? this.target.folder : join(this.target.file, '..');
  }

  /** Returns the local top folder of a shared path. Symbolic links in the share must not lead out of it. */
  topOf(below: string): string {
    const [first, ...more] = this.#partsOf(below);
    return 'folder' in this.target && more.length > 0 ? join(this.folder, first!) : this.folder;
  }

  /** Returns the local path of a folder; '' is the target itself. */
  localFolder(below: string): string {
    return below === '' ? this.folder : join(this.folder, ...this.#partsOf(below));
  }

  /** Returns the parts of a path in names that the disk supports. No part is empty, `.` or `..`. */
  #partsOf(below: string): string[] {
    const parts = this.#own ? segmentsOf(below) : safeSegments(below);
    return (parts.length > 0 ? parts : ['unnamed']).map((part) => this.#partOf(part));
  }

  #partOf(part: string): string {
    const known = this.#parts.get(part);
    if (known !== undefined) return known;
    const safe = safeSegments(part)[0]!;
    // Decode a byte-escaped name that is valid UTF-8 after all: the disk will list it decoded.
    const names = [...(this.#own ? [pathText(Buffer.from(diskPath(part)))] : []), safe];
    const isPlain = (name: string) => name === safe && name.replace(UNUSUAL, '') === name;
    const found = names.find((name) => isPlain(name) || this.#has(name)) ?? safe.replace(UNUSUAL, '_');
    this.#parts.set(part, found);
    return found;
  }

  /** Whether the disk supports a name. A dry run assumes so. */
  #has(name: string): boolean {
    return 'file' in this.target || this.#options.dryRun || !this.#make() || hasName(this.folder, name);
  }

  /** Creates the target folder. Returns false on failure; writing the first file reports the reason. */
  #make(): boolean {
    try {
      makeLocalFolder(this.folder);
      return true;
    } catch {
      return false;
    }
  }

  /** Gives each file a unique path, even on a disk that ignores case. Notes a name that had to be changed. */
  claim(below: string, isFolder = false): string {
    const { target } = this;
    const segments = this.#partsOf(below);
    if ('folder' in target && segments.length > limits.pathParts) {
      const message = `has more than ${limits.pathParts} parts in its path, which is too deep`;
      throw new CliError('too-deep', message, 'get it alone, with --output FILE');
    }
    const wish = 'file' in target ? target.file : join(target.folder, ...segments);
    const path = 'file' in target || isFolder ? wish : this.#apart(wish);
    const other = this.#taken.get(path);
    if (other !== undefined) {
      const message = `would be written to the same path as "${oneLine(other)}"`;
      throw new CliError(
        'same-path',
        message,
        this.#options.hint ?? 'get it by its ID, with another --output',
      );
    }
    this.#taken.set(path, below);
    if ('folder' in target && path === wish && segments.join('/') !== below) {
      const message = `"${oneLine(below)}" is written as ${oneLine(path)}: its own name is not possible here`;
      this.#out.note('renamed', message, { name: below, path });
    }
    return path;
  }

  /** Returns the path, or a numbered one if the disk treats it as the same as a claimed path. Earlier claims get lower numbers. */
  #apart(wish: string): string {
    const twin = this.#twin(wish);
    if (twin === undefined && !this.#numbered.has(wish)) return this.#remember(wish);
    const short = withRoom(basename(wish));
    const numbered = (number: number) => join(dirname(wish), numberedPath(short, number));
    const key = this.#keyOf(join(dirname(wish), short));
    let number = this.#next.get(key) ?? 2;
    let path = numbered(number);
    while (this.#taken.has(path) || this.#twin(path) !== undefined) path = numbered(++number);
    this.#next.set(key, number + 1);
    this.#numbered.add(path);
    const why =
      twin === undefined
        ? `"${oneLine(this.#taken.get(wish)!)}" has that name here`
        : `a disk may not tell it from ${oneLine(twin)}`;
    const message = `${oneLine(wish)} is written as ${oneLine(path)}: ${why}`;
    this.#out.note('renamed', message, { name: wish, path });
    return this.#remember(path);
  }

  #keyOf(path: string): string {
    return relative(this.folder, path).split(sep).map(alike).join('\0');
  }

  #remember(path: string): string {
    const key = this.#keyOf(path);
    this.#alike.set(key, (this.#alike.get(key) ?? new Set()).add(path));
    return path;
  }

  /** Finds a claimed path that the disk treats as this one. With too many similar paths, assumes so without trying. */
  #twin(path: string): string | undefined {
    const others = [...(this.#alike.get(this.#keyOf(path)) ?? [])].filter((one) => one !== path);
    return others.length < MOST_ALIKE ? others.find((one) => this.#isOne(one, path)) : others[0];
  }

  /** Whether the disk treats two paths as the same. Tries each differing part in a scratch folder: file systems have different rules. */
  #isOne(one: string, other: string): boolean {
    if (this.#options.dryRun) return isOther(other);
    const parts = resolve(other).split(sep);
    const pairs = resolve(one)
      .split(sep)
      .flatMap((part, at) => (part === parts[at] ? [] : [[part, parts[at]!] as const]));
    return areOne(this.#nearest(other), pairs) ?? isOther(other);
  }

  /** Returns the nearest existing folder above a path. Follows no symbolic link. */
  #nearest(path: string): string {
    let at = this.folder;
    if (!this.#make()) return at;
    for (const part of relative(at, dirname(path)).split(sep)) {
      const next = join(at, part);
      if (!isFolder(next)) break;
      at = next;
    }
    return at;
  }

  /** Whether an existing path is listed under a different spelling, so that it may be a different file. */
  hasOtherName(path: string): boolean {
    let folder = this.folder;
    for (const part of relative(this.folder, path).split(sep)) {
      const names = this.#names.get(folder) ?? namesIn(folder);
      this.#names.set(folder, names);
      if (!names.has(part)) return true;
      folder = join(folder, part);
    }
    return false;
  }

  /** Creates the folders above a path, with `whole` also the path itself. Never follows a symbolic link, which could lead anywhere. */
  ensure(below: string, whole = false): void {
    if (!this.#folders.has(this.folder)) makeLocalFolder(this.folder);
    this.#folders.add(this.folder);
    if ('file' in this.target) return;
    const segments = this.#partsOf(below);
    const names = below.split('/');
    let at = this.target.folder;
    for (const [depth, segment] of (whole ? segments : segments.slice(0, -1)).entries()) {
      at = join(at, segment);
      // Check again each time: another process may have replaced the folder by a link.
      if (this.#folders.has(at) && isFolder(at)) continue;
      const own = names.slice(0, depth + 1).join('/');
      const isClosed = this.#own && (this.#options.isClosed?.(own) ?? false);
      if (makeFolder(at, isClosed) && isClosed) this.#unfinished.set(own, at);
      this.#folders.add(at);
    }
  }

  isUnfinished(below: string): boolean {
    return this.#unfinished.has(below);
  }

  /** Sets the final mode and time of a private folder. */
  finish(below: string, attributes: Attributes): void {
    this.ensure(below, true);
    finishFolder(this.#unfinished.get(below)!, attributes);
  }
}
