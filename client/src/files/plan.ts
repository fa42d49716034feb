/** What a move of files means for each of their records, and whether it may be: decided from the tree alone. */
import { type AttributesChange, type Metadata, MOST_COUNTED } from '@szafa/format';
import { ConflictError, ExistsError } from '../errors.ts';
import type { Entry } from './listing.ts';
import { parentOf } from './paths.ts';
import type { FileNode, Tree } from './tree.ts';

/** One record, and what is to be sealed into it. */
export interface Resealing {
  entry: Entry;
  path: string;
  /** As it is, unless told. */
  gen?: number | undefined;
  /** SHA-256 of the sealed one, in hex; as it is, unless told. */
  thumbnail?: string | undefined;
  /** Others than it has. */
  attributes?: ((metadata: Metadata) => AttributesChange) | undefined;
}

/** A file with all its versions, and where it goes. */
export interface NodeMove {
  node: FileNode;
  path: string;
}

/** The file as the tree has it: another device may have moved or removed it. */
export function nodeOf(tree: Tree, entry: Entry): FileNode {
  const node = tree.fileOf(entry);
  if (!node) throw new ConflictError([entry.path]);
  return node;
}

/** All that has this path: its versions, and what has it by the service's word alone. @public */
export const recordsOf = ({ versions, unproven }: FileNode): Entry[] => [...versions, ...unproven];

/** Each version with its path, and with the `gen` that keeps it newer than what is there already. */
export function planMoves(tree: Tree, moves: readonly NodeMove[], asVersion = false): Resealing[] {
  // Each version may have been named, but they go together.
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

/** Undefined where it stays. */
function genOver({ age }: Entry, below: number): number | undefined {
  return age && below > 0 ? Math.min(age.gen + below, MOST_COUNTED) : undefined;
}

/** Of what becomes the newest of a path. */
export function nextGen(tree: Tree, path: string): number {
  return Math.min(tree.genOf(path) + 1, MOST_COUNTED);
}

/** That nothing is in the way of a file: neither a file, but for a version, nor a folder, nor a file where a folder has to be. */
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
