import { type Entry, type Folder, hiddenRecords, recordsOf, type Szafa } from '@szafa/client/node';
import type { Command, Invocation } from '../../command.ts';
import { CliError, UsageError } from '../../errors.ts';
import { explain, isFatal } from '../../explain.ts';
import { connect } from '../../lib/account/connection.ts';
import { oneLine, plural } from '../../lib/print/text.ts';
import { Lookup } from '../../lib/select/lookup.ts';
import { shownName } from '../../lib/select/paths.ts';
import { checkCanConfirm, confirmFinal, planRemoval, removeFiles } from '../../lib/select/removal.ts';
import { ID, namedAll, unprovenOf } from '../../lib/select/selection.ts';
import { Batch } from '../../lib/transfer/batch.ts';
import { counted } from '../../lib/transfer/progress/counted.ts';

/** What is to go. */
interface Doomed {
  /** Files with all their versions, or one version that was named by its ID. */
  files: Map<string, { path: string; entries: Entry[] }>;
  folders: Map<string, Folder>;
  /** Those that were named by their IDs. */
  byId: Set<Entry>;
}

function doomed(named: ReturnType<typeof namedAll>, recursive: boolean): Doomed {
  const files: Doomed['files'] = new Map();
  const folders: Doomed['folders'] = new Map();
  const byId: Doomed['byId'] = new Set();
  for (const target of named.flatMap(({ targets }) => targets)) {
    if ('folder' in target) {
      const { path } = target.folder;
      if (path === '') throw new UsageError('the top cannot be removed', "name what is in it, as '*'");
      if (!recursive) {
        const hint = 'remove it with all that is in it: rm -r';
        throw new CliError('is-folder', `${shownName(path)} is a folder`, hint);
      }
      folders.set(path, target.folder);
    } else {
      const { path, versions } = target.file;
      if (target.version) byId.add(target.version);
      const known = files.get(path)?.entries ?? [];
      const more = target.version ? [target.version] : versions;
      // Two arguments may name the same one.
      files.set(path, { path, entries: [...new Set([...known, ...more])] });
    }
  }
  // What is in a folder that goes, goes with it.
  const goes = (path: string) => [...folders.keys()].some((folder) => path.startsWith(`${folder}/`));
  for (const path of [...files.keys()].filter(goes)) files.delete(path);
  for (const path of [...folders.keys()].filter(goes)) folders.delete(path);
  return { files, folders, byId };
}

/**
 * What does not prove that it is what its path says is kept, and told with its ID. One that was named by that goes to the trash all the
 * same: it comes back from there.
 */
async function keptOf(
  szafa: Szafa,
  entries: readonly Entry[],
  { flags, out, signal }: Invocation,
  { byId, batch }: { byId: ReadonlySet<Entry>; batch: Batch },
): Promise<Set<Entry>> {
  const kept = new Set<Entry>();
  for (const { entry, problem } of await unprovenOf(szafa, entries, signal)) {
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
    // What has a path of an earlier time is sound, and is somewhere else; what is no ID is not for a shell.
    const mayGo = !verified && ID.test(fileId);
    const next = mayGo ? `if it is to go all the same: szafa rm ${id} moves it to the trash` : hint;
    batch.fail(new CliError(code, `was kept: ${why} (${id})`, next), path);
  }
  return kept;
}

export const command: Command = async (invocation) => {
  const { flags, out, signal } = invocation;
  if (flags.now) checkCanConfirm(invocation);
  await using connection = await connect(invocation, { keys: 'useful' });
  const { szafa } = connection;
  const tree = await new Lookup(szafa, signal).tree();
  const batch = new Batch(out);
  const { files, folders, byId } = doomed(namedAll(tree, invocation, batch), flags.recursive ?? false);
  const listed: { path: string; entries: Entry[]; folder?: Folder }[] = [
    ...files.values(),
    ...folders.values().map((folder) => {
      const entries = [...tree.within(folder)].flatMap(recordsOf);
      return { path: `${folder.path}/`, entries, folder };
    }),
  ];
  const entries = listed.flatMap((one) => one.entries);
  const kept = await keptOf(szafa, entries, invocation, { byId, batch });
  const all = entries.filter((entry) => !kept.has(entry));
  const doing = listed
    .map((one) => ({ ...one, going: one.entries.filter((entry) => !kept.has(entry)) }))
    .filter((one) => one.going.length > 0 || one.entries.length === 0);
  const markersOf = (folder: Folder | undefined) =>
    folder ? [...tree.foldersWithin(folder)].flatMap(({ markers }) => markers) : [];
  // A folder with nothing in it is a thing of its own.
  const hollow = doing.filter((one) => one.entries.length === 0);
  if (flags['dry-run']) {
    const paths = hollow.map(({ path }) => path);
    planRemoval(invocation, flags.now ? 'remove' : 'trash', all, paths);
    batch.done += all.length + hollow.length;
  } else if (flags.now) {
    const paths = doing.map(({ path }) => path);
    if (paths.length > 0) await confirmFinal(invocation, paths, plural(all.length, 'file'));
    const before = batch.failed;
    const markers = doing.flatMap(({ folder }) => markersOf(folder));
    const silent = hiddenRecords([...all, ...markers]);
    await removeFiles(szafa, [...all, ...markers], invocation, batch, { silent });
    if (batch.failed > before) return batch.finish();
    for (const { folder, going, entries } of doing) {
      // What was kept would be in the root then.
      if (folder?.dirId === undefined || going.length < entries.length) continue;
      await szafa.removeDir(folder.dirId, { signal });
    }
    for (const { path, folder } of hollow) {
      if (markersOf(folder).length > 0) continue;
      out.done('removed', { path }, `deleted ${oneLine(path)}`);
      batch.done++;
    }
  } else {
    const options = { signal, onProgress: counted(out, 'moving to the trash') };
    const single = doing.filter(({ folder }) => !folder);
    if (single.length > 0)
      await szafa.trash(
        single.flatMap(({ going }) => going),
        options,
      );
    for (const { path, going } of single) {
      const more = going.length > 1 ? `, ${plural(going.length, 'version')}` : '';
      const fields = { path, file_ids: going.map(({ fileId }) => fileId) };
      out.done('trashed', fields, `moved ${oneLine(path)} to the trash${more}`);
    }
    for (const { path, folder, going, entries } of doing) {
      if (!folder) continue;
      const isWhole = going.length === entries.length;
      if (isWhole) await szafa.removeFolder(folder.path, options);
      else await szafa.trash([...going, ...markersOf(folder)], options);
      const count = isWhole ? folder.count : going.length;
      const what = isWhole ? oneLine(path) : `${plural(count, 'file')} of ${oneLine(path)}`;
      const text = `moved ${what} to the trash${isWhole ? `, ${plural(count, 'file')}` : ''}`;
      out.done('trashed', { path, files: count }, text);
    }
    batch.done += all.length + hollow.length;
  }
  batch.finish();
};
