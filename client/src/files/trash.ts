/** The trash: what is in it comes back until the service empties it. */

import { limits } from '@szafa/protocol';
import { ConflictError } from '../errors.ts';
import { filePages, trashFiles } from './calls.ts';
import type { TreeContext, TreeOptions } from './context.ts';
import { type Entry, listEntries } from './listing.ts';
import { checkPath } from './paths.ts';
import { recordsOf } from './plan.ts';
import type { FileNode } from './tree.ts';

/** A file in the trash. A long path is cut there: the header that has the whole cannot be read before it is restored. @public */
export interface TrashEntry extends Entry {
  trashedAt: string;
  /** From then on it may be gone for good. */
  expiresAt: string;
}

/** @public */
export interface PruneOptions extends TreeOptions {
  /** Versions that stay, the newest among them; 1 unless told. */
  keep?: number | undefined;
  /** Only those that were added before then, in milliseconds since 1970. */
  olderThan?: number | undefined;
}

/** These records, a thousand in one transaction. */
export async function trash(
  { api }: TreeContext,
  entries: readonly Entry[],
  options: TreeOptions = {},
): Promise<void> {
  await inBatches(entries, options, (ids) => trashFiles(api, 'trashFiles', ids, { signal: options.signal }));
}

export async function restore(
  { api }: TreeContext,
  entries: readonly Entry[],
  options: TreeOptions = {},
): Promise<void> {
  await inBatches(entries, options, (ids) =>
    trashFiles(api, 'restoreFiles', ids, { signal: options.signal }),
  );
}

async function inBatches(
  entries: readonly Entry[],
  { onProgress, signal }: TreeOptions,
  send: (ids: string[]) => Promise<string[]>,
): Promise<void> {
  for (let at = 0; at < entries.length; at += limits.filesPerBatch) {
    signal?.throwIfAborted();
    const batch = entries.slice(at, at + limits.filesPerBatch);
    const refused = new Set(await send(batch.map(({ fileId }) => fileId)));
    if (refused.size > 0) {
      const named = batch.filter(({ fileId }) => refused.has(fileId));
      throw new ConflictError((named.length > 0 ? named : batch).map(({ path }) => path));
    }
    onProgress?.(at + batch.length, entries.length);
  }
}

/** What came there last is first. */
export async function listTrash(context: TreeContext, signal?: AbortSignal): Promise<TrashEntry[]> {
  const pages = await Array.fromAsync(filePages(context.api, 'listTrash', { signal }));
  const entries = await listEntries(context, pages, { signal, cut: true });
  const records = pages.flat();
  return entries.map((entry, at) => {
    const { trashed_at: trashedAt, expires_at: expiresAt } = records[at]!;
    return { ...entry, trashedAt, expiresAt };
  });
}

/** Deletes for good: these, or all that is there now; how many that were. */
export async function emptyTrash(
  { api }: TreeContext,
  { entries, signal, onProgress }: TreeOptions & { entries?: readonly Entry[] | undefined } = {},
): Promise<number> {
  let removed = 0;
  const ids = entries
    ? entries.map(({ fileId }) => fileId)
    : (await Array.fromAsync(filePages(api, 'listTrash', { signal }))).flat().map(({ file_id }) => file_id);
  for (let at = 0; at < ids.length; at += limits.filesPerBatch) {
    const files = ids.slice(at, at + limits.filesPerBatch);
    removed += (await api.call('emptyTrash', { body: { files }, signal })).removed;
    onProgress?.(at + files.length, ids.length);
  }
  return removed;
}

/** A folder with all that is in it, which is the result. The directory goes too: what is restored brings its path back. */
export async function removeFolder(
  context: TreeContext,
  path: string,
  options: TreeOptions = {},
): Promise<Entry[]> {
  const tree = options.tree ?? (await context.tree(options));
  const folder = tree.folder(checkPath(path));
  if (!folder) throw new ConflictError([path]);
  const files = [...tree.within(folder)].flatMap(recordsOf);
  // One that the service shows under an earlier path is in another folder by now.
  const replayed = files.find(({ verified, problem }) => verified && problem);
  if (replayed) throw replayed.problem;
  const markers = [...tree.foldersWithin(folder)].flatMap((inner) => inner.markers);
  const all = [...files, ...markers];
  await trash(context, all, options);
  if (folder.dirId !== undefined) await context.directories.remove(folder.dirId, options);
  return all;
}

/** The versions that go; never the newest, none whose age is not proven, and none that the service shows under an earlier name. @public */
export function prunable({ versions }: FileNode, { keep = 1, olderThan }: PruneOptions): Entry[] {
  const sound = versions.filter(({ problem }) => problem === undefined);
  const older = sound.slice(Math.max(1, keep)).filter(({ age }) => age !== undefined);
  return olderThan === undefined ? older : older.filter(({ age }) => age!.added < olderThan);
}
