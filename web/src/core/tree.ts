/**
 * The tree as the page shows it, made of what the worker lists. A path is whole, from the top, without a slash at its end; '' is the top.
 * Paths are as they are sealed; only names are cleaned to be shown.
 */
import { displayName, freePath as freeIn, lastOf, parentOf } from '@szafa/client';
import type { FolderInfo, Item, Move } from './bridge/calls.ts';

export { isWithin, joinPath, lastOf, parentOf } from '@szafa/client';

export interface Folder {
  kind: 'folder';
  path: string;
  /** As it may be shown; '' for the top. */
  name: string;
  above: Folder | undefined;
  folders: Folder[];
  files: Item[];
  /** Bytes and files, with all folders below. */
  size: number;
  count: number;
  /** When the newest file below was added; 0 where there is none. */
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

/** The folders from the top down to this one. */
export function chain(folder: Folder): Folder[] {
  const found = [folder];
  for (let at = folder.above; at; at = at.above) found.unshift(at);
  return found;
}

/** The files of a folder and of all below it. */
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
 * Whether a move has come about, from the trees before and after it (a folder's paths end in a slash): what is at the new path must be what was at the old one, since
 * another device may have put something of its own there.
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

/** The folder of this path, or the nearest above it that there is. */
export function nearest(tree: Tree, path: string): Folder {
  for (let at = path; ; at = parentOf(at)) {
    const found = tree.folder(at);
    if (found) return found;
  }
}

/** A path in the same folder that nothing has, and that is not given already: `a.txt`, `a (2).txt`, `a (3).txt`. */
export function freePath(tree: Tree, path: string, given: ReadonlySet<string> = new Set()): string {
  const has = (at: string) => tree.file(at) !== undefined || tree.folder(at) !== undefined || given.has(at);
  return freeIn({ has }, path);
}
