import { type Entry, type Folder, hiddenRecords, recordsOf, type Szafa } from '@szafa/client/node';
import type { Command, Invocation } from '../../command.ts';
import { CliError, UsageError } from '../../errors.ts';
import { explain, isFatal } from '../../explain.ts';
import { connect } from '../../lib/account/connection.ts';
import { oneLine, plural } from '../../lib/print/text.ts';
import { Lookup } from '../../lib/select/lookup.ts';
import { shownName } from '../../lib/select/paths.ts';
import { checkCanConfirm, confirmRemoval, planRemoval, removeFiles } from '../../lib/select/removal.ts';
import { findAllTargets, findUnproven, ID, type Match } from '../../lib/select/selection.ts';
import { Batch } from '../../lib/transfer/batch.ts';
import { countFiles } from '../../lib/transfer/progress/progress.ts';

/** The files and folders to remove, without those inside of such folders. */
interface Removal {
  /** Each with all its versions, or with those that were named by their IDs. */
  files: Map<string, { path: string; entries: Entry[] }>;
  folders: Map<string, Folder>;
  /** Versions that were named by their IDs. */
  byId: Set<Entry>;
}

function planTargets(matches: readonly Match[], recursive: boolean): Removal {
  const files: Removal['files'] = new Map();
  const folders: Removal['folders'] = new Map();
  const byId: Removal['byId'] = new Set();
  for (const target of matches.flatMap(({ targets }) => targets)) {
    if ('folder' in target) {
      const { path } = target.folder;
      if (path === '') throw new UsageError('cannot remove the root folder', "name what is in it, as '*'");
      if (!recursive) {
        const hint = 'remove it with everything in it: rm -r';
        throw new CliError('is-folder', `${shownName(path)} is a folder`, hint);
      }
      folders.set(path, target.folder);
    } else {
      const { path, versions } = target.file;
      if (target.version) byId.add(target.version);
      const known = files.get(path)?.entries ?? [];
      const more = target.version ? [target.version] : versions;
      // Two arguments may name the same version.
      files.set(path, { path, entries: [...new Set([...known, ...more])] });
    }
  }
  const isInFolder = (path: string) => [...folders.keys()].some((folder) => path.startsWith(`${folder}/`));
  for (const path of [...files.keys()].filter(isInFolder)) files.delete(path);
  for (const path of [...folders.keys()].filter(isInFolder)) folders.delete(path);
  return { files, folders, byId };
}

/**
 * Finds files to keep because they do not prove their paths, and reports them with their IDs. One that was named by its ID goes to the
 * trash all the same: it can be restored.
 */
async function findKept(
  szafa: Szafa,
  entries: readonly Entry[],
  { flags, out, signal }: Invocation,
  { byId, batch }: { byId: ReadonlySet<Entry>; batch: Batch },
): Promise<Set<Entry>> {
  const kept = new Set<Entry>();
  for (const { entry, problem } of await findUnproven(szafa, entries, signal)) {
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
    // A file with an outdated path is sound, and is somewhere else; an ID that is none must not get into a shell.
    const mayGo = !verified && ID.test(fileId);
    const next = mayGo ? `to remove it anyway: szafa rm ${id} moves it to the trash` : hint;
    batch.fail(new CliError(code, `was kept: ${why} (${id})`, next), path);
  }
  return kept;
}

/** A file or folder with its versions, and those that are removed. */
interface RemovalItem {
  path: string;
  entries: Entry[];
  toRemove: Entry[];
  folder?: Folder;
  /** Records of the folder and of those inside of it. */
  markers: Entry[];
}

const isWhole = ({ toRemove, entries }: RemovalItem) => toRemove.length === entries.length;

async function deleteItems(
  szafa: Szafa,
  items: readonly RemovalItem[],
  emptyFolders: readonly RemovalItem[],
  invocation: Invocation,
  batch: Batch,
): Promise<void> {
  const { out, signal } = invocation;
  const files = items.flatMap(({ toRemove }) => toRemove);
  if (items.length > 0) {
    const paths = items.map(({ path }) => path);
    await confirmRemoval(invocation, paths, plural(files.length, 'file'));
  }
  const before = batch.failed;
  const all = [...files, ...items.flatMap(({ markers }) => markers)];
  await removeFiles(szafa, all, invocation, batch, { silent: hiddenRecords(all) });
  if (batch.failed > before) return;
  for (const item of items) {
    // A kept file would land in the root folder.
    if (item.folder?.dirId === undefined || !isWhole(item)) continue;
    await szafa.removeDir(item.folder.dirId, { signal });
  }
  for (const { path, markers } of emptyFolders) {
    if (markers.length > 0) continue;
    out.done('removed', { path }, `deleted ${oneLine(path)}`);
    batch.done++;
  }
}

async function trashItems(
  szafa: Szafa,
  items: readonly RemovalItem[],
  { out, signal }: Invocation,
): Promise<void> {
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

export const rm: Command = async (invocation) => {
  const { flags, out, signal } = invocation;
  if (flags.now) checkCanConfirm(invocation);
  await using szafa = await connect(invocation, { keys: 'useful' });
  const tree = await new Lookup(szafa, signal).tree();
  const batch = new Batch(out);
  const matches = findAllTargets(tree, invocation, batch);
  const { files, folders, byId } = planTargets(matches, flags.recursive ?? false);
  const listed = [
    ...files.values().map((file) => ({ ...file, markers: [] })),
    ...folders.values().map((folder) => ({
      ...{ path: `${folder.path}/`, folder, entries: [...tree.within(folder)].flatMap(recordsOf) },
      markers: [...tree.foldersWithin(folder)].flatMap(({ markers }) => markers),
    })),
  ];
  const entries = listed.flatMap((one) => one.entries);
  const kept = await findKept(szafa, entries, invocation, { byId, batch });
  const items = listed
    .map((one): RemovalItem => ({ ...one, toRemove: one.entries.filter((entry) => !kept.has(entry)) }))
    .filter((one) => one.toRemove.length > 0 || one.entries.length === 0);
  const emptyFolders = items.filter((one) => one.entries.length === 0);
  const count = items.reduce((sum, { toRemove }) => sum + toRemove.length, 0) + emptyFolders.length;
  if (flags['dry-run']) {
    const action = flags.now ? 'remove' : 'trash';
    const paths = emptyFolders.map(({ path }) => path);
    planRemoval(
      invocation,
      action,
      items.flatMap(({ toRemove }) => toRemove),
      paths,
    );
    batch.done += count;
  } else if (flags.now) await deleteItems(szafa, items, emptyFolders, invocation, batch);
  else {
    await trashItems(szafa, items, invocation);
    batch.done += count;
  }
  batch.finish();
};
