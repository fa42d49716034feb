/** The trash, from which files can be restored until the server deletes them. */

import { limits } from '@szafa/protocol';
import { ConflictError } from '../errors.ts';
import { filePages, trashFiles } from './calls.ts';
import type { TreeContext, TreeOptions } from './context.ts';
import { type Entry, listEntries } from './listing.ts';
import { checkPath } from './paths.ts';
import { recordsOf } from './plan.ts';
import type { FileNode } from './tree.ts';

/** A file in the trash. A long path is truncated: the whole path is in the header, which the list does not fetch. @public */
export interface TrashEntry extends Entry {
  trashedAt: string;
  /** When the server may delete it. */
  expiresAt: string;
}

/** @public */
export interface PruneOptions extends TreeOptions {
  /** Number of versions to keep; 1 by default. */
  keep?: number | undefined;
  /** Prune only versions added before this time, in milliseconds since 1970. */
  olderThan?: number | undefined;
}

/** See `Szafa.trash`. */
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

/** See `Szafa.listTrash`. */
export async function listTrash(context: TreeContext, signal?: AbortSignal): Promise<TrashEntry[]> {
  const pages = await Array.fromAsync(filePages(context.api, 'listTrash', { signal }));
  const entries = await listEntries(context, pages, { signal, cut: true });
  const records = pages.flat();
  return entries.map((entry, at) => {
    const { trashed_at: trashedAt, expires_at: expiresAt } = records[at]!;
    return { ...entry, trashedAt, expiresAt };
  });
}

/** See `Szafa.emptyTrash`. */
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

/** See `Szafa.removeFolder`. Removes the directory too: restoring a file brings its path back. */
export async function removeFolder(
  context: TreeContext,
  path: string,
  options: TreeOptions = {},
): Promise<Entry[]> {
  const tree = options.tree ?? (await context.tree(options));
  const folder = tree.folder(checkPath(path));
  if (!folder) throw new ConflictError([path]);
  const files = [...tree.within(folder)].flatMap(recordsOf);
  // The server returned an earlier path of this file, which is in another folder by now.
  const replayed = files.find(({ verified, problem }) => verified && problem);
  if (replayed) throw replayed.problem;
  const markers = [...tree.foldersWithin(folder)].flatMap((inner) => inner.markers);
  const all = [...files, ...markers];
  await trash(context, all, options);
  if (folder.dirId !== undefined) await context.directories.remove(folder.dirId, options);
  return all;
}

/** Returns the versions to remove. Never returns the newest, one without a verified age, or one with a problem. @public */
export function prunable({ versions }: FileNode, { keep = 1, olderThan }: PruneOptions): Entry[] {
  const sound = versions.filter(({ problem }) => problem === undefined);
  const older = sound.slice(Math.max(1, keep)).filter(({ age }) => age !== undefined);
  return olderThan === undefined ? older : older.filter(({ age }) => age!.added < olderThan);
}
