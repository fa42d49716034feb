/**
 * The folder tree of the page, built from the worker's listing. Paths are full paths as they are sealed, without a
 * trailing slash; '' is the root folder. Only names are made safe to display.
 */
import { displayName, freePath as freeIn, lastOf, parentOf } from '@szafa/client';
import type { FolderInfo, Item, Move } from './bridge/calls.ts';

export { isWithin, joinPath, lastOf, parentOf } from '@szafa/client';

export interface Folder {
  kind: 'folder';
  path: string;
  /** Safe to display; '' for the root folder. */
  name: string;
  above: Folder | undefined;
  folders: Folder[];
  files: Item[];
  /** Bytes and number of files, including all subfolders. */
  size: number;
  count: number;
  /** Time of the newest file in the folder and its subfolders; 0 if there is none. */
  createdAt: number;
  verified: boolean;
}

export interface Tree {
  top: Folder;
  folder(path: string): Folder | undefined;
  file(path: string): Item | undefined;
}

function newFolder(path: string, above: Folder | undefined): Folder {
  const name = displayName(lastOf(path));
  const empty = { folders: [], files: [], size: 0, count: 0, createdAt: 0, verified: true };
  return { kind: 'folder', path, name, above, ...empty };
}

export function treeOf(items: readonly Item[], folders: readonly FolderInfo[]): Tree {
  const top = newFolder('', undefined);
  const byPath = new Map([['', top]]);
  const files = new Map<string, Item>();

  function make(path: string): Folder {
    const known = byPath.get(path);
    if (known) return known;
    const above = make(parentOf(path));
    const made = newFolder(path, above);
    above.folders.push(made);
    byPath.set(path, made);
    return made;
  }

  for (const { path, verified } of folders)
    if (!verified) make(path).verified = false;
    else make(path);
  for (const item of items) {
    const folder = make(parentOf(item.path));
    folder.files.push(item);
    files.set(item.path, item);
    for (let at: Folder | undefined = folder; at; at = at.above) {
      at.size += item.size;
      at.count++;
      if (item.createdAt > at.createdAt) at.createdAt = item.createdAt;
    }
  }
  return { top, folder: (path) => byPath.get(path), file: (path) => files.get(path) };
}

/** Returns the folders from the root folder down to this one. */
export function chain(folder: Folder): Folder[] {
  const found = [folder];
  for (let at = folder.above; at; at = at.above) found.unshift(at);
  return found;
}

/** Yields the files of a folder and all its subfolders. */
export function* filesBelow(folder: Folder): Generator<Item> {
  yield* folder.files;
  for (const inner of folder.folders) yield* filesBelow(inner);
}

export function* foldersBelow(folder: Folder): Generator<Folder> {
  for (const inner of folder.folders) {
    yield inner;
    yield* foldersBelow(inner);
  }
}

/**
 * Returns a function that tells whether a move has taken effect. It compares file ids in the trees before and after,
 * because another device may have put a different file at the new path.
 */
export function arrivals(before: Tree): (after: Tree, move: Move) => boolean {
  const isAt = (after: Tree, path: string, item: Item | undefined) =>
    item !== undefined && after.file(path)?.fileId === item.fileId;
  return (after, { from, to }) => {
    if (!from.endsWith('/')) return isAt(after, to, before.file(from));
    const [old, now] = [from.slice(0, -1), to.slice(0, -1)];
    const folder = before.folder(old);
    if (!folder) return false;
    if (folder.count === 0) return after.folder(now) !== undefined && after.folder(old) === undefined;
    return [...filesBelow(folder)].every((item) => isAt(after, now + item.path.slice(old.length), item));
  };
}

/** Returns the folder at this path, or its nearest existing parent. */
export function nearest(tree: Tree, path: string): Folder {
  for (let at = path; ; at = parentOf(at)) {
    const found = tree.folder(at);
    if (found) return found;
  }
}

/** Returns an unused path in the same folder that is not in `given` either: `a.txt`, `a (2).txt`, `a (3).txt`. */
export function freePath(tree: Tree, path: string, given: ReadonlySet<string> = new Set()): string {
  const has = (at: string) => tree.file(at) !== undefined || tree.folder(at) !== undefined || given.has(at);
  return freeIn({ has }, path);
}
