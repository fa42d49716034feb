/** Plans moves using only the tree: the changes to each record, and whether the move is possible. */
import { type AttributesChange, type Metadata, MOST_COUNTED } from '@szafa/format';
import { ConflictError, ExistsError } from '../errors.ts';
import type { Entry } from './listing.ts';
import { parentOf } from './paths.ts';
import type { FileNode, Tree } from './tree.ts';

/** A record, and the planned changes to its metadata. */
export interface Resealing {
  entry: Entry;
  path: string;
  gen?: number | undefined;
  /** SHA-256 of the sealed thumbnail, in hex. */
  thumbnail?: string | undefined;
  attributes?: ((metadata: Metadata) => AttributesChange) | undefined;
}

/** A file with all its versions, and its new path. */
export interface NodeMove {
  node: FileNode;
  path: string;
}

/** Finds the file in the tree. @throws ConflictError if another device has moved or removed it */
export function nodeOf(tree: Tree, entry: Entry): FileNode {
  const node = tree.fileOf(entry);
  if (!node) throw new ConflictError([entry.path]);
  return node;
}

/** Returns all records of a path: the versions, and files that only the server claims to be there. @public */
export const recordsOf = ({ versions, unproven }: FileNode): Entry[] => [...versions, ...unproven];

/** Gives each version its new path, and a `gen` that makes it newer than an existing file. @throws ExistsError */
export function planMoves(tree: Tree, moves: readonly NodeMove[], asVersion = false): Resealing[] {
  // Callers may pass several versions of one file; it moves once.
  const targets = new Map(moves.map(({ node, path }) => [node, path]));
  const real = [...targets]
    .map(([node, path]) => ({ node, path }))
    .filter(({ node, path }) => node.path !== path);
  const leaving = new Set(real.map(({ node }) => node.path));
  const coming = Map.groupBy(real, ({ path }) => path);
  const taken = [...coming].filter(
    ([path, some]) => (some.length > 1 && !asVersion) || isTaken(tree, path, { asVersion, leaving }),
  );
  if (taken.length > 0) throw new ExistsError(taken.map(([path]) => path));
  return [...coming].flatMap(([path, some]) => {
    let over = leaving.has(path) ? 0 : tree.genOf(path);
    return some.flatMap(({ node }) => {
      const below = over;
      over += node.entry.age?.gen ?? 0;
      return recordsOf(node).map((entry) => ({ entry, path, gen: genOver(entry, below) }));
    });
  });
}

function genOver({ age }: Entry, below: number): number | undefined {
  return age && below > 0 ? Math.min(age.gen + below, MOST_COUNTED) : undefined;
}

/** Returns the `gen` that makes a file the newest at its path. */
export function nextGen(tree: Tree, path: string): number {
  return Math.min(tree.genOf(path) + 1, MOST_COUNTED);
}

/**
 * Whether a file cannot be placed at this path: a file is there (and must not become a version), a folder is there, or a parent is a
 * file.
 */
export function isTaken(
  tree: Tree,
  path: string,
  {
    asVersion = false,
    leaving = new Set(),
  }: { asVersion?: boolean | undefined; leaving?: ReadonlySet<string> } = {},
): boolean {
  const isFile = (at: string) => tree.file(at) !== undefined && !leaving.has(at);
  if (isFile(path) && !asVersion) return true;
  for (let folder = parentOf(path); folder !== ''; folder = parentOf(folder)) {
    if (isFile(folder)) return true;
  }
  const there = tree.folder(path);
  if (!there) return false;
  const stays = (files: FileNode[]) => files.some((file) => !leaving.has(file.path));
  return tree
    .foldersWithin(there)
    .some(({ files, markers, dirId }) => stays(files) || markers.length > 0 || dirId !== undefined);
}
