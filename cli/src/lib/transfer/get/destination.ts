import { stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import {
  type Attributes,
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
import { areOne, finishFolder, hasName, isFolder, isOther, makeHere, namesOf } from './disk.ts';

/** Where files go: a file, or a folder that they are put below. */
export type Place = { file: string } | { folder: string };

/** `single`: one file is asked for, and no folder. */
export async function placeFor(given: string | undefined, single: boolean): Promise<Place> {
  if (given === undefined) return { folder: '.' };
  const output = givenPath(given);
  if (!single || output.endsWith('/')) return { folder: output };
  const isThere = await stat(diskPath(output)).then(
    (stats) => stats.isDirectory(),
    () => false, // not there yet: it is the file's own name
  );
  return isThere ? { folder: output } : { file: output };
}

/** Names that differ only in case are as many as somebody likes: the disk is asked about so many, and all behind them get a number. */
const MOST_ALIKE = 64;
/** What FAT, and all of Windows, has in no name. */
const UNUSUAL = /[:*?"<>|]/g;

export interface DestinationOptions {
  /** What to do where two files would get the same path. */
  hint?: string;
  dryRun?: boolean | undefined;
  /** All of it is the account's own: names stay as they are, if the disk can have them. Those of others are always cleaned. */
  own?: boolean;
  /** Folders that are for nobody else until they are finished, by their paths below. */
  closed?: (below: string) => boolean;
}

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
  /** Folders that were there, and were no links. */
  readonly #folders = new Set<string>();
  /** Folders that are to be finished, by their paths below. */
  readonly #unfinished = new Map<string, string>();
  /** Names as they are written here: by the own name, or by the cleaned one of others. */
  readonly #parts = new Map<string, string>();
  readonly #dryRun: boolean;
  readonly #own: boolean;
  readonly #closed: (below: string) => boolean;

  constructor(place: Place, out: Output, options: DestinationOptions = {}) {
    this.place = place;
    this.#out = out;
    this.#hint = options.hint ?? 'get it by its ID, with another --output';
    this.#dryRun = options.dryRun ?? false;
    // Windows takes much for something else, as a drive or a device.
    this.#own = (options.own ?? false) && process.platform !== 'win32';
    this.#closed = (this.#own && options.closed) || (() => false);
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

  /** The parts of a path as they can be here; a dry run does not try that. None is empty, `.` or `..`. */
  #partsOf(below: string): string[] {
    const parts = this.#own ? segmentsOf(below) : safeSegments(below);
    return (parts.length > 0 ? parts : ['unnamed']).map((part) => this.#partOf(part));
  }

  #partOf(part: string): string {
    const known = this.#parts.get(part);
    if (known !== undefined) return known;
    const safe = safeSegments(part)[0]!;
    // What is spelled byte by byte, though it is UTF-8, is the name that the disk will have.
    const names = [...(this.#own ? [pathText(Buffer.from(diskPath(part)))] : []), safe];
    const isPlain = (name: string) => name === safe && name.replace(UNUSUAL, '') === name;
    const found = names.find((name) => isPlain(name) || this.#has(name)) ?? safe.replace(UNUSUAL, '_');
    this.#parts.set(part, found);
    return found;
  }

  #has(name: string): boolean {
    if ('file' in this.place || this.#dryRun) return true;
    try {
      makeLocalFolder(this.folder);
    } catch {
      return true; // reported when a file is written
    }
    return hasName(this.folder, name);
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
    return areOne(this.#nearest(other), pairs) ?? isOther(other);
  }

  /** The folder that a path will be in, or the nearest above it that is there; no link is followed. */
  #nearest(path: string): string {
    try {
      makeLocalFolder(this.folder);
    } catch {
      return this.folder; // reported when a file is written
    }
    let at = this.folder;
    for (const part of relative(this.folder, dirname(path)).split(sep)) {
      const next = join(at, part);
      if (!isFolder(next)) break;
      at = next;
    }
    return at;
  }

  /** Whether what is there is there by another name, which the disk takes for this one: then it may be another file. */
  hasOtherName(path: string): boolean {
    let folder = this.folder;
    for (const part of relative(this.folder, path).split(sep)) {
      const names = this.#names.get(folder) ?? namesOf(folder);
      this.#names.set(folder, names);
      if (!names.has(part)) return true;
      folder = join(folder, part);
    }
    return false;
  }

  /** The folders of a path, or with `whole` the path itself. No link on the way is followed: it could lead anywhere. */
  ensure(below: string, whole = false): void {
    if (!this.#folders.has(this.folder)) makeLocalFolder(this.folder);
    this.#folders.add(this.folder);
    if ('file' in this.place) return;
    const segments = this.#partsOf(below);
    const names = below.split('/');
    let at = this.place.folder;
    for (const [depth, segment] of (whole ? segments : segments.slice(0, -1)).entries()) {
      at = join(at, segment);
      // Looked at each time: another process may have put a link there.
      if (this.#folders.has(at) && isFolder(at)) continue;
      const own = names.slice(0, depth + 1).join('/');
      const closed = this.#closed(own);
      if (makeHere(at, closed) && closed) this.#unfinished.set(own, at);
      this.#folders.add(at);
    }
  }

  /** Whether a folder was made closed, and is still to be finished. */
  isUnfinished(below: string): boolean {
    return this.#unfinished.has(below);
  }

  finish(below: string, attributes: Attributes): void {
    this.ensure(below, true);
    finishFolder(this.#unfinished.get(below)!, attributes);
  }
}
