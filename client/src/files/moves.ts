/** Moves and copies files and folders. */
import { type Metadata, toBase64Url } from '@szafa/format';
import { ApiError, ConflictError, ExistsError, NameError } from '../errors.ts';
import type { CopyOptions, FolderOptions, MoveOptions, TreeContext } from './context.ts';
import type { Entry } from './listing.ts';
import { checkPath, dirNameOf, isWithin, parentOf } from './paths.ts';
import { isTaken, nextGen, nodeOf, planMoves, type Resealing } from './plan.ts';
import { resealPaths } from './reseal-files.ts';
import type { Folder, Tree } from './tree.ts';

/** A file to move, with all its versions, and its new path. @public */
export interface Move {
  entry: Entry;
  path: string;
}

const CLONE_TRIES = 5;
const CLONE_WAIT_MS = 200;

/** See `Szafa.rename`. */
export async function rename(
  context: TreeContext,
  moves: readonly Move[],
  options: MoveOptions = {},
): Promise<void> {
  const wanted = moves.map(({ entry, path }) => ({ entry, path: checkPath(path) }));
  const tree = options.tree ?? (await context.tree(options));
  const nodes = wanted.map(({ entry, path }) => ({ node: nodeOf(tree, entry), path }));
  await resealPaths(context, planMoves(tree, nodes, options.asVersion), options);
}

/** See `Szafa.renameFolder`. With `asVersion`, merges the folder into an existing one. */
export async function renameFolder(
  context: TreeContext,
  from: string,
  to: string,
  options: MoveOptions = {},
): Promise<void> {
  checkPath(from);
  checkPath(to);
  if (from === to) return;
  if (isWithin(to, from)) throw new NameError('a folder cannot be moved into itself');
  const tree = options.tree ?? (await context.tree(options));
  const folder = folderOf(tree, from);
  if (tree.folder(to) && !options.asVersion) throw new ExistsError([to]);
  if (isFileOnTheWay(tree, to)) throw new ExistsError([to]);
  const moved = (path: string) => checkPath(to + path.slice(from.length));
  const nodes = [...tree.within(folder)].map((node) => ({ node, path: moved(node.path) }));
  const markers = [...tree.foldersWithin(folder)].flatMap((inner) =>
    inner.markers.map((entry): Resealing => ({ entry, path: `${moved(inner.path)}/` })),
  );
  await resealPaths(context, [...planMoves(tree, nodes, options.asVersion), ...markers], options);
  if (nodes.length + markers.length === 0 && !tree.folder(to)) await makeAt(context, to, options);
  if (folder.dirId !== undefined) await context.directories.remove(folder.dirId, options);
}

/** See `Szafa.makeFolder`. */
export async function makeFolder(
  context: TreeContext,
  path: string,
  options: FolderOptions = {},
): Promise<void> {
  checkPath(path);
  const tree = options.tree ?? (await context.tree(options));
  if (tree.folder(path) || isFileOnTheWay(tree, path)) throw new ExistsError([path]);
  await makeAt(context, path, options);
}

/** Creates a folder. Without attributes, a first-level folder is just a directory on the server; any other folder needs a record. */
async function makeAt(context: TreeContext, path: string, options: FolderOptions): Promise<void> {
  const { mode, mtime, signal } = options;
  const isPlain = mode === undefined && mtime === undefined;
  if (isPlain && parentOf(path) === '' && dirNameOf(`${path}/`) !== undefined)
    await context.directories.ensure(path, { signal });
  else await context.uploadMarker(`${path}/`, options);
}

/** See `Szafa.copyTo`. No bytes are sent. */
export async function copyTo(
  context: TreeContext,
  entry: Entry,
  path: string,
  options: CopyOptions = {},
): Promise<string> {
  checkPath(path);
  const { signal, asVersion, hardlinks = new Map() } = options;
  const tree = options.tree ?? (await context.tree(options));
  nodeOf(tree, entry);
  if (isTaken(tree, path, { asVersion })) throw new ExistsError([path]);
  const attributes = ({ hardlink }: Metadata) => {
    if (hardlink === undefined) return {};
    const copied = hardlinks.get(hardlink) ?? toBase64Url(context.engine.random(16));
    hardlinks.set(hardlink, copied);
    return { hardlink: copied };
  };
  return cloneAs(context, { entry, path, gen: nextGen(tree, path), attributes }, signal);
}

async function cloneAs(
  context: TreeContext,
  { entry, path, gen, attributes }: Resealing,
  signal?: AbortSignal,
): Promise<string> {
  const { api, directories } = context;
  const dirId = await directories.ensureFor(path, { signal });
  const fileId = await cloneInto(context, entry.fileId, dirId, signal);
  try {
    const record = { ...entry.record, file_id: fileId };
    const copy = { entry: { ...entry, fileId, dirId, record }, path, gen, attributes };
    await resealPaths(context, [copy], { signal });
  } catch (error) {
    // The copy still has the old path, where it would be an unwanted version.
    await api
      .call('deleteFile', { params: { file_id: fileId }, signal: AbortSignal.timeout(5_000) })
      .catch(() => {});
    throw error;
  }
  return fileId;
}

/** Copies a file into a directory. The server refuses a second copy there until the first one is renamed, so this retries. */
async function cloneInto(
  { api }: TreeContext,
  fileId: string,
  dirId: number | null,
  signal?: AbortSignal,
): Promise<string> {
  for (let tries = 1; ; tries++) {
    try {
      return (await api.call('cloneFile', { params: { file_id: fileId }, body: { dir_id: dirId }, signal }))
        .file_id;
    } catch (error) {
      const isBusy = error instanceof ApiError && error.exists;
      if (!isBusy || tries === CLONE_TRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, CLONE_WAIT_MS * tries));
      signal?.throwIfAborted();
    }
  }
}

function folderOf(tree: Tree, path: string): Folder {
  const folder = tree.folder(path);
  if (!folder) throw new ConflictError([path]);
  return folder;
}

function isFileOnTheWay(tree: Tree, path: string): boolean {
  for (let at = path; at !== ''; at = parentOf(at)) if (tree.file(at)) return true;
  return false;
}
