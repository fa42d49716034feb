/** The files of an account as a tree, built from one list. A tree is immutable and makes no requests. */
import { limits } from '@szafa/protocol';
import type { SzafaError } from '../errors.ts';
import type { DirEntry, Entry } from './listing.ts';
import { newestFirst } from './newest.ts';
import { lastOf, numberedPath, parentOf, segmentsOf } from './paths.ts';

/** A file with its earlier versions. @public */
export interface FileNode {
  path: string;
  /** The last segment of the path. */
  name: string;
  /** The newest of the versions. */
  entry: Entry;
  /** Newest first by their sealed ages; unverified files in the server's order. */
  versions: Entry[];
  /**
   * Unverified files that the server claims to be at this path. They never replace verified ones. Empty if the node itself is not
   * verified.
   */
  unproven: Entry[];
  size: number;
  createdAt: string;
  verified: boolean;
  problem?: SzafaError;
  misplaced?: true;
}

/** A folder; the root has the path ''. @public */
export interface Folder {
  path: string;
  name: string;
  /** Sorted by name, like the files. */
  folders: Folder[];
  files: FileNode[];
  /** Bytes of all files at any depth, counting the newest version of each. */
  size: number;
  /** Number of files at any depth. */
  count: number;
  /** The server's directory of this name; first-level folders only. */
  dirId?: number;
  /** The name of the directory is verified. */
  sealed?: true;
  /** Folder records, which keep the folder when it is empty. */
  markers: Entry[];
}

const UNNAMED = 'unnamed';
/** Replaces slashes beyond the depth limit. */
const DEEPER = '⧸';
/** Longest valid path of a directory and a plain name. Longer claims are cut, or a server could create a million folders. */
const MOST_UNPROVEN = limits.dirNameChars + 1 + limits.fileNameChars;

/** Matches paths with segments that are not allowed. A fast test, since lists have thousands of paths. */
const ODD = /(^|\/)\.{0,2}(\/|$)/;

const newFolder = (path: string): Folder => ({
  ...{ path, name: lastOf(path), folders: [], files: [] },
  ...{ size: 0, count: 0, markers: [] },
});

const byCode = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);

/** Returns the path in the tree: without empty segments, `.` and `..`, which a sealed or claimed path may contain. */
export function pathIn({ path, verified }: Entry): string {
  const told = verified ? path : path.slice(0, MOST_UNPROVEN);
  return notTooDeep(ODD.test(told) ? segmentsOf(told).join('/') || UNNAMED : told);
}

/** Limits the depth, since each segment creates a folder: joins the segments beyond the limit into the name. */
function notTooDeep(path: string): string {
  if (path.length <= 2 * limits.pathParts) return path;
  let at = -1;
  for (let part = 1; part < limits.pathParts; part++) {
    at = path.indexOf('/', at + 1);
    if (at < 0) return path;
  }
  return path.slice(0, at + 1) + path.slice(at + 1).replaceAll('/', DEEPER);
}

function isMarker({ path, verified, size }: Entry): boolean {
  return verified && size === 0 && path.endsWith('/');
}

/** Keeps the server's order, normally newest first, for entries without an age. */
const byAge = ({ age: a }: Entry, { age: b }: Entry) => (a && b ? newestFirst(a, b) : 0);

function ranked(same: Entry[]): Pick<FileNode, 'versions' | 'unproven'> {
  const proven = same.filter((entry) => entry.verified).sort(byAge);
  if (proven.length === 0) return { versions: same, unproven: [] };
  return { versions: proven, unproven: same.filter((entry) => !entry.verified) };
}

/** @public */
export class Tree {
  readonly top: Folder;
  readonly #folders = new Map<string, Folder>();
  readonly #files = new Map<string, FileNode>();

  constructor(entries: Iterable<Entry>, dirs: Iterable<DirEntry> = []) {
    this.top = newFolder('');
    this.#folders.set('', this.top);
    for (const { name, dirId, verified } of dirs) this.#addDir(name, dirId, verified);
    const byPath = new Map<string, Entry[]>();
    for (const entry of entries) {
      const path = pathIn(entry);
      if (isMarker(entry)) {
        this.#folderAt(path).markers.push(entry);
        continue;
      }
      const same = byPath.get(path);
      if (same) same.push(entry);
      else byPath.set(path, [entry]);
    }
    for (const [path, same] of byPath) this.#addFile(path, same);
    this.#sum();
  }

  /** Returns a folder; '' is the root. */
  folder(path: string): Folder | undefined {
    return this.#folders.get(path);
  }

  file(path: string): FileNode | undefined {
    return this.#files.get(path);
  }

  /** Returns the file that has this record, if it is in the tree. */
  fileOf(entry: Entry): FileNode | undefined {
    const node = this.#files.get(pathIn(entry));
    return node && [...node.versions, ...node.unproven].find((one) => one.fileId === entry.fileId) && node;
  }

  /** Returns all folders except the root, parents first. */
  folders(): Folder[] {
    return [...this.#folders.values()].slice(1).sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  files(): FileNode[] {
    return [...this.#files.values()];
  }

  /** Yields the files below a folder, at any depth. */
  *within(folder: Folder): Generator<FileNode> {
    for (const { files } of this.foldersWithin(folder)) yield* files;
  }

  /** Yields the folder and all folders in it, at any depth. */
  *foldersWithin(folder: Folder): Generator<Folder> {
    const left = [folder];
    for (let next = left.pop(); next; next = left.pop()) {
      yield next;
      // Pushed one by one: a folder may have more subfolders than a call can take arguments.
      for (const inner of next.folders) left.push(inner);
    }
  }

  /** Whether a file or folder exists. */
  has(path: string): boolean {
    return this.#files.has(path) || this.#folders.has(path);
  }

  /** Returns the highest `gen` of a path; 0 if there is no file. */
  genOf(path: string): number {
    return this.#files.get(path)?.entry.age?.gen ?? 0;
  }

  #addDir(name: string, dirId: number, verified: boolean): void {
    const [segment, ...more] = segmentsOf(name);
    if (segment === undefined || more.length > 0) return;
    const folder = this.#folderAt(segment);
    // Prefers a sealed directory to a plain one of the same name.
    if (folder.dirId === undefined || verified) folder.dirId = dirId;
    if (verified) folder.sealed = true;
  }

  #folderAt(path: string): Folder {
    const missing: string[] = [];
    let known = this.#folders.get(path);
    for (let at = path; !known; known = this.#folders.get(at)) {
      missing.push(at);
      at = parentOf(at);
    }
    return missing.reduceRight((parent, at) => {
      const folder = newFolder(at);
      parent.folders.push(folder);
      this.#folders.set(at, folder);
      return folder;
    }, known);
  }

  #addFile(path: string, same: Entry[]): void {
    const { versions, unproven } = same.length === 1 ? { versions: same, unproven: [] } : ranked(same);
    const [entry] = versions as [Entry];
    const { size, createdAt, verified, problem, misplaced } = entry;
    const name = lastOf(path);
    const node: FileNode = { path, name, entry, versions, unproven, size, createdAt, verified };
    if (problem) node.problem = problem;
    if (misplaced) node.misplaced = misplaced;
    this.#files.set(path, node);
    this.#folderAt(parentOf(path)).files.push(node);
  }

  #sum(): void {
    // Maps keep insertion order, and parents were added before their children.
    for (const folder of [...this.#folders.values()].reverse()) {
      folder.folders.sort(byCode);
      folder.files.sort(byCode);
      folder.count += folder.files.length;
      for (const { size } of folder.files) folder.size += size;
      if (folder === this.top) return;
      const parent = this.#folders.get(parentOf(folder.path))!;
      parent.size += folder.size;
      parent.count += folder.count;
    }
  }
}

/** Returns the path, with the first free number appended if it is taken. @public */
export function freePath(tree: { has(path: string): boolean }, path: string): string {
  let free = path;
  for (let number = 2; tree.has(free); number++) free = numberedPath(path, number);
  return free;
}
