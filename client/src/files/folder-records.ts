/** Folder records: empty files whose path ends in a slash. They store a folder's mode and times, and keep empty folders. */
import type { Attributes } from '@szafa/format';
import { ApiError, ConflictError } from '../errors.ts';
import { type Version, versionsOf } from '../transfers/download/versions.ts';
import type { FolderOptions, TreeContext } from './context.ts';
import type { Entry } from './listing.ts';
import { checkPath, parentOf } from './paths.ts';
import { recordsOf } from './plan.ts';
import { resealPaths } from './reseal-files.ts';
import { type FileNode, type Folder, Tree } from './tree.ts';

type Markers = Pick<Folder, 'markers'>;

async function newestRecord(
  context: TreeContext,
  markers: readonly Entry[],
  signal?: AbortSignal,
): Promise<Version | undefined> {
  const [newest] = await versionsOf(context, markers, signal);
  if (newest?.problem) throw newest.problem;
  return newest;
}

/** See `Szafa.folderAttributes`. */
export async function readAttributes(
  context: TreeContext,
  { markers }: Markers,
  signal?: AbortSignal,
): Promise<Attributes> {
  const { mode, special, mtime, nanos } = (await newestRecord(context, markers, signal))?.metadata ?? {};
  return {
    ...(mode !== undefined && { mode }),
    ...(special !== undefined && { special }),
    ...(mtime !== undefined && { mtime }),
    ...(nanos !== undefined && { nanos }),
  };
}

/** See `Szafa.recordFolder`. Uploads a record, or reseals the existing one if it differs. */
export async function recordFolder(
  context: TreeContext,
  path: string,
  options: FolderOptions = {},
): Promise<'made' | 'changed' | 'same'> {
  const { signal, mode, special = 0, mtime, nanos = 0 } = options;
  const tree = options.tree ?? (await context.tree(options));
  const found = await newestRecord(context, tree.folder(checkPath(path))?.markers ?? [], signal);
  if (!found?.metadata) {
    await context.uploadMarker(`${path}/`, options);
    return 'made';
  }
  const wanted: Attributes = {
    ...(mode !== undefined && { mode, special }),
    ...(mtime !== undefined && { mtime, nanos }),
  };
  const known: Attributes = { special: 0, nanos: 0, ...found.metadata };
  const keys = Object.keys(wanted) as (keyof Attributes)[];
  if (keys.every((key) => known[key] === wanted[key])) return 'same';
  try {
    await resealPaths(context, [{ entry: found.entry, path: `${path}/`, attributes: () => wanted }], {
      signal,
    });
  } catch (error) {
    // An append-only token may not change the record, or another device has just changed it: upload a newer record instead.
    const mayNot = error instanceof ApiError && error.kind === 'out-of-scope';
    if (!mayNot && !(error instanceof ConflictError)) throw error;
    await context.uploadMarker(`${path}/`, { ...options, after: found.metadata.gen });
  }
  return 'changed';
}

/** Returns the records of non-empty folders, which a list need not show. @public */
export function hiddenRecords<T extends Entry>(entries: readonly T[]): Set<T> {
  const folders = [...new Tree(entries).folders()];
  const full = folders.filter((folder) => folder.files.length + folder.folders.length > 0);
  return new Set(full.flatMap(({ markers }) => markers as T[]));
}

/** Returns the records of folders that become empty when these entries are removed. @public */
export function recordsLeft(tree: Tree, going: ReadonlySet<string>): Entry[] {
  const isGoing = (file: FileNode) => recordsOf(file).every(({ fileId }) => going.has(fileId));
  const emptied = tree.folders().filter((folder) => folder.count > 0 && tree.within(folder).every(isGoing));
  return emptied.flatMap(({ markers }) => markers).filter(({ fileId }) => !going.has(fileId));
}

/** Returns the records of the folders above a path, innermost first. @public */
export function recordsAbove(tree: Tree, path: string): Entry[] {
  const found: Entry[] = [];
  for (let at = parentOf(path); at !== ''; at = parentOf(at)) found.push(...(tree.folder(at)?.markers ?? []));
  return found;
}
