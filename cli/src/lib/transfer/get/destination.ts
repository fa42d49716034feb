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

/** Where files are written: to one file, or below a folder. */
export type Target = { file: string } | { folder: string };

/** `single`: one file is downloaded, and no folder. */
export async function targetFor(given: string | undefined, single: boolean): Promise<Target> {
  if (given === undefined) return { folder: '.' };
  const output = givenPath(given);
  if (!single || output.endsWith('/')) return { folder: output };
  const isDirectory = await stat(diskPath(output)).then(
    (stats) => stats.isDirectory(),
    () => false, // does not exist yet: it is the name of the file
  );
  return isDirectory ? { folder: output } : { file: output };
}

/** A share may have any number of names that differ in case only: the disk is asked about this many, and all others get a number. */
const MOST_ALIKE = 64;
/** Characters that FAT and Windows have in no name. */
const UNUSUAL = /[:*?"<>|]/g;

interface DestinationOptions {
  /** What to do if two files would get the same path. */
  hint?: string;
  dryRun?: boolean | undefined;
  /** All files are the account's own: names stay as they are, if the disk can have them. Names from others are always cleaned. */
  own?: boolean;
  /** Whether nobody else may read a folder, by its path below the target, until it is finished. */
  isClosed?: (below: string) => boolean;
}

/** Turns paths on the server into local paths, each once, and makes the folders for them. */
export class Destination {
  readonly target: Target;
  readonly #out: Output;
  readonly #options: DestinationOptions;
  readonly #own: boolean;
  /** Claimed paths, and the paths on the server that they are for. */
  readonly #taken = new Map<string, string>();
  /** Claimed paths that some disk may take for one. */
  readonly #alike = new Map<string, Set<string>>();
  /** Claimed paths with a number that is not part of the name: a file that really has that name gets another number. */
  readonly #numbered = new Set<string>();
  /** The next number to try. */
  readonly #next = new Map<string, number>();
  /** Names in folders, as of the first look. */
  readonly #names = new Map<string, Set<string>>();
  /** Folders that exist, and were no links. */
  readonly #folders = new Set<string>();
  /** Folders to finish, by their paths below the target. */
  readonly #unfinished = new Map<string, string>();
  /** Local spelling of each name. */
  readonly #parts = new Map<string, string>();

  constructor(target: Target, out: Output, options: DestinationOptions = {}) {
    this.target = target;
    this.#out = out;
    this.#options = options;
    // Windows takes many names for a drive or a device.
    this.#own = (options.own ?? false) && process.platform !== 'win32';
  }

  get folder(): string {
    return 'folder' in this.target ? this.target.folder : join(this.target.file, '..');
  }

  /** The top folder of a shared path: a link in it may not lead out of that. */
  topOf(below: string): string {
    const [first, ...more] = this.#partsOf(below);
    return 'folder' in this.target && more.length > 0 ? join(this.folder, first!) : this.folder;
  }

  /** The local path of a folder; '' is the target itself. */
  localFolder(below: string): string {
    return below === '' ? this.folder : join(this.folder, ...this.#partsOf(below));
  }

  /** The parts of a path as the disk can have them. None is empty, `.` or `..`. */
  #partsOf(below: string): string[] {
    const parts = this.#own ? segmentsOf(below) : safeSegments(below);
    return (parts.length > 0 ? parts : ['unnamed']).map((part) => this.#partOf(part));
  }

  #partOf(part: string): string {
    const known = this.#parts.get(part);
    if (known !== undefined) return known;
    const safe = safeSegments(part)[0]!;
    // A name that is spelled byte by byte, though it is UTF-8, is the name that the disk will have.
    const names = [...(this.#own ? [pathText(Buffer.from(diskPath(part)))] : []), safe];
    const isPlain = (name: string) => name === safe && name.replace(UNUSUAL, '') === name;
    const found = names.find((name) => isPlain(name) || this.#has(name)) ?? safe.replace(UNUSUAL, '_');
    this.#parts.set(part, found);
    return found;
  }

  /** Whether the disk can have a name; a dry run does not try. */
  #has(name: string): boolean {
    return 'file' in this.target || this.#options.dryRun || !this.#make() || hasName(this.folder, name);
  }

  /** False if it cannot be made: writing the first file reports why. */
  #make(): boolean {
    try {
      makeLocalFolder(this.folder);
      return true;
    } catch {
      return false;
    }
  }

  /** Gives each file a path of its own, also on a disk that takes two names for one. Reports a name that had to be changed. */
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

  /** The path, or a numbered one if the disk takes it for another, in the order of the claims. */
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

  /** Another claimed path that the disk takes for this one, or that is one of too many to ask about. */
  #twin(path: string): string | undefined {
    const others = [...(this.#alike.get(this.#keyOf(path)) ?? [])].filter((one) => one !== path);
    return others.length < MOST_ALIKE ? others.find((one) => this.#isOne(one, path)) : others[0];
  }

  /** Tries it, part by part, where they would be: only the disk knows. */
  #isOne(one: string, other: string): boolean {
    if (this.#options.dryRun) return isOther(other);
    const parts = resolve(other).split(sep);
    const pairs = resolve(one)
      .split(sep)
      .flatMap((part, at) => (part === parts[at] ? [] : [[part, parts[at]!] as const]));
    return areOne(this.#nearest(other), pairs) ?? isOther(other);
  }

  /** The nearest folder above a path that exists; no link is followed. */
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

  /** Whether the disk has it by another name, which it takes for this one: it may be another file. */
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

  /** Makes the folders of a path, or with `whole` the path itself. Follows no link on the way: it could lead anywhere. */
  ensure(below: string, whole = false): void {
    if (!this.#folders.has(this.folder)) makeLocalFolder(this.folder);
    this.#folders.add(this.folder);
    if ('file' in this.target) return;
    const segments = this.#partsOf(below);
    const names = below.split('/');
    let at = this.target.folder;
    for (const [depth, segment] of (whole ? segments : segments.slice(0, -1)).entries()) {
      at = join(at, segment);
      // Checked each time: another process may have put a link there.
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

  /** Gives a closed folder its mode and time. */
  finish(below: string, attributes: Attributes): void {
    this.ensure(below, true);
    finishFolder(this.#unfinished.get(below)!, attributes);
  }
}
