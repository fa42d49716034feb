import { lstatSync, mkdirSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { makeLocalFolder, numberedPath, safeSegments } from '@szafa/client/node';
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

/** Turns paths on the server into paths here, each once, and makes the folders for them. */
export class Destination {
  readonly place: Place;
  readonly #out: Output;
  readonly #hint: string;
  /** Paths that are taken: two names may become the same path. */
  readonly #taken = new Map<string, string>();
  /** Folders that are there, and are no links. */
  readonly #folders = new Set<string>();

  /** `hint`: what to do where two files would get the same path. */
  constructor(place: Place, out: Output, hint = 'get it by its ID, with another --output') {
    this.place = place;
    this.#out = out;
    this.#hint = hint;
  }

  /** The folder that `below` paths are in; of a file of its own name the one that it is in. */
  get folder(): string {
    return 'folder' in this.place ? this.place.folder : join(this.place.file, '..');
  }

  /** As much of a path as its owner gave as a whole, the folder at its top: a link in it may not lead out of that. */
  topOf(below: string): string {
    const [first, ...more] = safeSegments(below);
    return 'folder' in this.place && more.length > 0 ? join(this.folder, first!) : this.folder;
  }

  /** Names are cleaned, and none is given twice, also where the disk takes two for one; where one had to be changed that is said. */
  claim(below: string, isFolder = false): string {
    const segments = safeSegments(below);
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
    if ('folder' in this.place && segments.join('/') !== below) {
      const message = `"${oneLine(below)}" is written as ${oneLine(path)}: its own name is not possible here`;
      this.#out.note('renamed', message, { name: below, path });
    }
    return path;
  }

  /** The folders of a path, or with `whole` the path itself. No link on the way is followed: it could lead anywhere. */
  ensure(below: string, whole = false): void {
    if (!this.#folders.has(this.folder)) makeLocalFolder(this.folder);
    this.#folders.add(this.folder);
    if ('file' in this.place) return;
    const segments = safeSegments(below);
    let at = this.place.folder;
    for (const segment of whole ? segments : segments.slice(0, -1)) {
      at = join(at, segment);
      if (this.#folders.has(at)) continue;
      makeHere(at);
      this.#folders.add(at);
    }
  }
}

function makeHere(path: string): void {
  try {
    mkdirSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const stats = lstatSync(path);
    if (stats.isDirectory()) return;
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
