import { type Entry, type Folder, hiddenRecords, recordsOf, type Tree } from '@szafa/client/node';
import type { Invocation } from '../../command.ts';
import { CliError, UsageError } from '../../errors.ts';
import { explain, isFatal } from '../../explain.ts';
import { type AccountInvocation, withAccount } from '../../lib/account/connection.ts';
import { oneLine, plural, shownName } from '../../lib/print/text.ts';
import { checkCanConfirm, confirmRemoval, planRemoval, removeFiles } from '../../lib/select/removal.ts';
import { findAllTargets, findUnproven, ID } from '../../lib/select/selection.ts';
import { countFiles } from '../../lib/transfer/progress.ts';

/** A file or folder to remove. */
interface RemovalItem {
  path: string;
  /** All versions, or only those given by ID. */
  entries: Entry[];
  /** `entries` without the ones to keep, see `findKept`. */
  toRemove: Entry[];
  folder?: Folder;
  /** Attribute records of the folder and its subfolders. */
  markers: Entry[];
}

const isWhole = ({ toRemove, entries }: RemovalItem) => toRemove.length === entries.length;

/** Plans what to remove. Skips items inside a folder that is removed itself. `byId`: versions that were given by ID. */
function planItems(tree: Tree, invocation: Invocation) {
  const files = new Map<string, Set<Entry>>();
  const folders = new Map<string, Folder>();
  const byId = new Set<Entry>();
  for (const target of findAllTargets(tree, invocation).flatMap(({ targets }) => targets)) {
    if ('folder' in target) {
      const { path } = target.folder;
      if (path === '') throw new UsageError('cannot remove the root folder', "name what is in it, as '*'");
      if (!invocation.flags.recursive) {
        const hint = 'remove it with everything in it: rm -r';
        throw new CliError('is-folder', `${shownName(path)} is a folder`, hint);
      }
      folders.set(path, target.folder);
    } else {
      const { path, versions } = target.file;
      if (target.version) byId.add(target.version);
      const more = target.version ? [target.version] : versions;
      // Two arguments may name the same version.
      files.set(path, new Set([...(files.get(path) ?? []), ...more]));
    }
  }
  const isInFolder = (path: string) => [...folders.keys()].some((folder) => path.startsWith(`${folder}/`));
  const items = [
    ...[...files].map(([path, entries]) => ({ path, entries: [...entries], markers: [] })),
    ...[...folders.values()].map((folder) => ({
      ...{ path: `${folder.path}/`, folder, entries: [...tree.within(folder)].flatMap(recordsOf) },
      markers: [...tree.foldersWithin(folder)].flatMap(({ markers }) => markers),
    })),
  ];
  return { items: items.filter(({ path }) => !isInFolder(path.replace(/\/$/, ''))), byId };
}

/**
 * Finds files to keep because their paths are not proven, and reports each as a failure. A file given by ID still goes to the trash,
 * where it can be restored.
 */
async function findKept(account: AccountInvocation, entries: readonly Entry[], byId: ReadonlySet<Entry>) {
  const { flags, out, batch } = account;
  const kept = new Set<Entry>();
  for (const { entry, problem } of await findUnproven(account, entries)) {
    if (isFatal(problem)) throw problem;
    const { fileId, path, verified } = entry;
    const id = oneLine(fileId);
    const why = oneLine(problem.message);
    if (!verified && !flags.now && byId.has(entry)) {
      out.note('not-verified', `${id} does not prove what it is: ${why}`, { file_id: fileId, path });
      continue;
    }
    kept.add(entry);
    const { code, hint } = explain(problem);
    // Suggest `rm ID` only for an unverified file: a verified one is intact at another path. A malformed ID must not reach a shell.
    const mayGo = !verified && ID.test(fileId);
    const next = mayGo ? `to remove it anyway: szafa rm ${id} moves it to the trash` : hint;
    batch.fail(new CliError(code, `was kept: ${why} (${id})`, next), path);
  }
  return kept;
}

async function deleteItems(
  account: AccountInvocation,
  items: readonly RemovalItem[],
  emptyFolders: readonly RemovalItem[],
): Promise<void> {
  const { out, batch, signal, szafa } = account;
  const files = items.flatMap(({ toRemove }) => toRemove);
  if (items.length > 0) {
    const paths = items.map(({ path }) => path);
    await confirmRemoval(account, paths, plural(files.length, 'file'));
  }
  const before = batch.failed;
  const all = [...files, ...items.flatMap(({ markers }) => markers)];
  await removeFiles(account, all, { silent: hiddenRecords(all) });
  if (batch.failed > before) return;
  for (const item of items) {
    // Removing the directory would move its kept files to the root folder.
    if (item.folder?.dirId === undefined || !isWhole(item)) continue;
    await szafa.removeDir(item.folder.dirId, { signal });
  }
  for (const { path, markers } of emptyFolders) {
    if (markers.length > 0) continue;
    out.done('removed', { path }, `deleted ${oneLine(path)}`);
    batch.done++;
  }
}

async function trashItems({ out, signal, szafa }: AccountInvocation, items: readonly RemovalItem[]) {
  const options = { signal, onProgress: countFiles(out, 'moving to the trash') };
  const files = items.filter(({ folder }) => !folder);
  const versions = files.flatMap(({ toRemove }) => toRemove);
  if (versions.length > 0) await szafa.trash(versions, options);
  for (const { path, toRemove } of files) {
    const more = toRemove.length > 1 ? `, ${plural(toRemove.length, 'version')}` : '';
    const fields = { path, file_ids: toRemove.map(({ fileId }) => fileId) };
    out.done('trashed', fields, `moved ${oneLine(path)} to the trash${more}`);
  }
  for (const item of items) {
    const { path, folder, toRemove, markers } = item;
    if (!folder) continue;
    if (isWhole(item)) await szafa.removeFolder(folder.path, options);
    else await szafa.trash([...toRemove, ...markers], options);
    const count = isWhole(item) ? folder.count : toRemove.length;
    const text = isWhole(item)
      ? `moved ${oneLine(path)} to the trash, ${plural(count, 'file')}`
      : `moved ${plural(count, 'file')} of ${oneLine(path)} to the trash`;
    out.done('trashed', { path, files: count }, text);
  }
}

const check = (invocation: Invocation) => invocation.flags.now && checkCanConfirm(invocation);

export const rm = withAccount({ keys: 'useful', check }, async (account) => {
  const { flags, batch, lookup } = account;
  const planned = planItems(await lookup.tree(), account);
  const entries = planned.items.flatMap((one) => one.entries);
  const kept = await findKept(account, entries, planned.byId);
  const items = planned.items
    .map((one): RemovalItem => ({ ...one, toRemove: one.entries.filter((entry) => !kept.has(entry)) }))
    .filter((one) => one.toRemove.length > 0 || one.entries.length === 0);
  const emptyFolders = items.filter((one) => one.entries.length === 0);
  if (flags.now && !flags['dry-run']) return deleteItems(account, items, emptyFolders);
  const toRemove = items.flatMap((one) => one.toRemove);
  const paths = emptyFolders.map(({ path }) => path);
  if (flags['dry-run']) planRemoval(account, flags.now ? 'remove' : 'trash', toRemove, paths);
  else await trashItems(account, items);
  batch.done += toRemove.length + emptyFolders.length;
});
