import { lstatSync, mkdirSync, mkdtempSync, readdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { alike, makeLocalFolder, numberedPath, safeSegments, withRoom } from '@szafa/client/node';
import { limits } from '@szafa/protocol';
import { CliError } from '../errors.ts';
import type { Output } from '../output.ts';
import { oneLine } from '../text.ts';

/** Where files go: a file, or a folder that they are put below. */
export type Place = { file: string } | { folder: string };

/** `single`: one file is asked for, and no folder. */
export async function placeFor(output: string | undefined, single: boolean): Promise<Place> {
  if (output === undefined) return { folder: '.' };
  if (!single || output.endsWith('/')) return { folder: output };
  const isFolder = await stat(output).then(
    (stats) => stats.isDirectory(),
    () => false, // not there yet: it is the file's own name
  );
  return isFolder ? { folder: output } : { file: output };
}

/** Names that differ only in case are as many as somebody likes: the disk is asked about so many, and all behind them get a number. */
const MOST_ALIKE = 64;
/** What FAT, and all of Windows, has in no name. */
const UNUSUAL = /[:*?"<>|]/g;

/** Turns paths on the server into paths here, each once, and makes the folders for them. */
export class Destination {
  readonly place: Place;
  readonly #out: Output;
  readonly #hint: string;
  /** Paths that are taken: two names may become the same path. */
  readonly #taken = new Map<string, string>();
  /** Of those, the ones that some disk may take for one. */
  readonly #alike = new Map<string, Set<string>>();
  /** Those that have a number which is not their own: whoever has that name gives way. */
  readonly #numbered = new Set<string>();
  /** The next number to try. */
  readonly #next = new Map<string, number>();
  /** What is in folders, when they were first looked at. */
  readonly #names = new Map<string, Set<string>>();
  /** Folders that are there, and are no links. */
  readonly #folders = new Set<string>();
  /** Whether the disk has names with unusual signs. */
  #hasUnusual: boolean | undefined;
  readonly #dryRun: boolean;

  /** `hint`: what to do where two files would get the same path. */
  constructor(
    place: Place,
    out: Output,
    {
      hint = 'get it by its ID, with another --output',
      dryRun = false,
    }: { hint?: string; dryRun?: boolean | undefined } = {},
  ) {
    this.place = place;
    this.#out = out;
    this.#hint = hint;
    this.#dryRun = dryRun;
  }

  /** The folder that `below` paths are in; of a file of its own name the one that it is in. */
  get folder(): string {
    return 'folder' in this.place ? this.place.folder : join(this.place.file, '..');
  }

  /** As much of a path as its owner gave as a whole, the folder at its top: a link in it may not lead out of that. */
  topOf(below: string): string {
    const [first, ...more] = this.#partsOf(below);
    return 'folder' in this.place && more.length > 0 ? join(this.folder, first!) : this.folder;
  }

  /** A folder that was named, as it is here; '' is none. */
  named(top: string): string {
    return top === '' ? this.folder : join(this.folder, ...this.#partsOf(top));
  }

  /** A path as it can be here; a dry run does not try that. */
  #partsOf(below: string): string[] {
    const has = () => {
      this.#hasUnusual ??= 'file' in this.place || this.#dryRun || hasUnusual(this.folder);
      return this.#hasUnusual;
    };
    return safeSegments(below).map((part) => {
      const usual = part.replace(UNUSUAL, '_');
      return usual === part || has() ? part : usual;
    });
  }

  /** Names are cleaned, and none is given twice, also where the disk takes two for one; where one had to be changed that is said. */
  claim(below: string, isFolder = false): string {
    const segments = this.#partsOf(below);
    if ('folder' in this.place && segments.length > limits.pathParts) {
      const message = `has more than ${limits.pathParts} parts in its path: so many folders are not made`;
      throw new CliError('too-deep', message, 'get it alone, with --output FILE');
    }
    const wish = 'file' in this.place ? this.place.file : join(this.place.folder, ...segments);
    const path = 'file' in this.place || isFolder ? wish : this.#apart(wish);
    const other = this.#taken.get(path);
    if (other !== undefined) {
      const message = `would be written to the same path as "${oneLine(other)}"`;
      throw new CliError('same-path', message, this.#hint);
    }
    this.#taken.set(path, below);
    if ('folder' in this.place && path === wish && segments.join('/') !== below) {
      const message = `"${oneLine(below)}" is written as ${oneLine(path)}: its own name is not possible here`;
      this.#out.note('renamed', message, { name: below, path });
    }
    return path;
  }

  /** The path, or one with a number where the disk does not tell it from another: in the order in which they are claimed. */
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

  /** Another path that the disk takes for this one, or that is one of too many to ask it. */
  #twin(path: string): string | undefined {
    const others = [...(this.#alike.get(this.#keyOf(path)) ?? [])].filter((one) => one !== path);
    return others.length < MOST_ALIKE ? others.find((one) => this.#isOne(one, path)) : others[0];
  }

  /** By trying it, part by part, in a folder of its own where they would be: only the disk knows. */
  #isOne(one: string, other: string): boolean {
    if (this.#dryRun) return isOther(other);
    const parts = resolve(other).split(sep);
    const pairs = resolve(one)
      .split(sep)
      .flatMap((part, at) => (part === parts[at] ? [] : [[part, parts[at]!] as const]));
    try {
      const folder = mkdtempSync(join(this.#nearest(other), '.szafa-'));
      try {
        return pairs.every(([a, b]) => isOneIn(folder, a, b));
      } finally {
        rmdirSync(folder);
      }
    } catch {
      // Nothing can be written there: that is told when a file is.
      return isOther(other);
    }
  }

  /** The folder that a path will be in, or the nearest above it that is there; no link is followed. */
  #nearest(path: string): string {
    makeLocalFolder(this.folder);
    let at = this.folder;
    for (const part of relative(this.folder, dirname(path)).split(sep)) {
      const next = join(at, part);
      if (!lstatSync(next, { throwIfNoEntry: false })?.isDirectory()) break;
      at = next;
    }
    return at;
  }

  /** Whether what is there is there by another name, which the disk takes for this one: then it may be another file. */
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

  /** The folders of a path, or with `whole` the path itself. No link on the way is followed: it could lead anywhere. Whether the last was not there. */
  ensure(below: string, whole = false): boolean {
    if (!this.#folders.has(this.folder)) makeLocalFolder(this.folder);
    this.#folders.add(this.folder);
    if ('file' in this.place) return false;
    const segments = this.#partsOf(below);
    let at = this.place.folder;
    let isNew = false;
    for (const segment of whole ? segments : segments.slice(0, -1)) {
      at = join(at, segment);
      isNew = !this.#folders.has(at) && makeHere(at);
      this.#folders.add(at);
    }
    return isNew;
  }
}

/** By trying it: only the disk knows. */
function hasUnusual(folder: string): boolean {
  try {
    makeLocalFolder(folder);
    const within = mkdtempSync(join(folder, '.szafa-'));
    try {
      writeFileSync(join(within, ':*?"<>|'), '');
    } catch (error) {
      return !['ENOENT', 'EINVAL'].includes((error as NodeJS.ErrnoException).code ?? '');
    } finally {
      rmSync(within, { recursive: true });
    }
  } catch {
    // Nothing can be written there: that is told when a file is.
  }
  return true;
}

function namesIn(folder: string): Set<string> {
  try {
    return new Set(readdirSync(folder));
  } catch {
    return new Set(); // a folder may be open to whoever knows the names in it
  }
}

/** Without trying: there is something by this name, and it has another one. */
function isOther(path: string): boolean {
  const isThere = lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  return isThere && !readdirSync(dirname(path)).includes(basename(path));
}

function isOneIn(folder: string, one: string, other: string): boolean {
  const path = join(folder, one);
  writeFileSync(path, '', { flag: 'wx' });
  try {
    return lstatSync(join(folder, other), { throwIfNoEntry: false }) !== undefined;
  } finally {
    rmSync(path);
  }
}

function makeHere(path: string): boolean {
  try {
    mkdirSync(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const stats = lstatSync(path);
    if (stats.isDirectory()) return false;
    if (!stats.isSymbolicLink()) throw Object.assign(error as Error, { code: 'ENOTDIR' });
    const message = `${oneLine(path)} is a symbolic link, and nothing is written through one`;
    throw new CliError(
      'through-link',
      message,
      'remove the link, or give --output the folder it leads to',
      1,
      {
        cause: error,
      },
    );
  }
}
