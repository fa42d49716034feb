import { ApiError, type Entry, type FileNode, type Folder, type Szafa } from '@szafa/client/node';
import { Batch } from '../batch.ts';
import type { Command } from '../command.ts';
import { connect } from '../connection.ts';
import { counted } from '../counted.ts';
import { CliError, UsageError } from '../errors.ts';
import { Lookup } from '../lookup.ts';
import { shownName } from '../paths.ts';
import { checkCanConfirm, confirmFinal, planRemoval, removeFiles } from '../removal.ts';
import { namedAll, prove } from '../selection.ts';
import { oneLine, plural } from '../text.ts';

/** What is to go. */
interface Doomed {
  /** Files with all their versions, or one version that was named by its ID. */
  files: Map<string, { path: string; entries: Entry[] }>;
  folders: Map<string, Folder>;
}

function doomed(named: ReturnType<typeof namedAll>, recursive: boolean): Doomed {
  const files: Doomed['files'] = new Map();
  const folders: Doomed['folders'] = new Map();
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
      const known = files.get(path)?.entries ?? [];
      files.set(path, { path, entries: [...known, ...(target.version ? [target.version] : versions)] });
    }
  }
  // What is in a folder that goes, goes with it.
  const goes = (path: string) => [...folders.keys()].some((folder) => path.startsWith(`${folder}/`));
  for (const path of [...files.keys()].filter(goes)) files.delete(path);
  for (const path of [...folders.keys()].filter(goes)) folders.delete(path);
  return { files, folders };
}

const versionsOf = ({ versions }: FileNode) => versions;

/** Another device may have removed it before. */
async function removeDir({ api }: Szafa, dirId: number, signal: AbortSignal): Promise<void> {
  await api.deleteDir(dirId, { signal }).catch((error: unknown) => {
    if (!(error instanceof ApiError && error.status === 404)) throw error;
  });
}

export const command: Command = async (invocation) => {
  const { flags, out, signal } = invocation;
  if (flags.now) checkCanConfirm(invocation);
  await using connection = await connect(invocation, { keys: 'useful' });
  const { szafa } = connection;
  const tree = await new Lookup(szafa, signal).tree();
  const batch = new Batch(out);
  const { files, folders } = doomed(namedAll(tree, invocation, batch), flags.recursive ?? false);
  const below = (folder: Folder) => [...tree.within(folder)].flatMap(versionsOf);
  const markers = (folder: Folder) => [...tree.foldersWithin(folder)].flatMap((inner) => inner.markers);
  const single = [...files.values()].flatMap(({ entries }) => entries);
  const all = [...single, ...[...folders.values()].flatMap(below)];
  await prove(szafa, all, signal);
  if (flags['dry-run']) planRemoval(invocation, flags.now ? 'remove' : 'trash', all);
  else if (flags.now) {
    const paths = [...files.keys(), ...[...folders.keys()].map((path) => `${path}/`)];
    if (paths.length > 0) await confirmFinal(invocation, paths, plural(all.length, 'file'));
    await removeFiles(szafa, [...all, ...[...folders.values()].flatMap(markers)], invocation);
    for (const { dirId } of folders.values()) {
      if (dirId !== undefined) await removeDir(szafa, dirId, signal);
    }
  } else {
    const options = { signal, onProgress: counted(out, 'moving to the trash') };
    if (single.length > 0) await szafa.trash(single, options);
    for (const { path, entries } of files.values()) {
      const more = entries.length > 1 ? `, ${plural(entries.length, 'version')}` : '';
      const fields = { path, file_ids: entries.map(({ fileId }) => fileId) };
      out.done('trashed', fields, `moved ${oneLine(path)} to the trash${more}`);
    }
    for (const { path, count } of folders.values()) {
      await szafa.removeFolder(path, options);
      const text = `moved ${oneLine(path)}/ to the trash, ${plural(count, 'file')}`;
      out.done('trashed', { path: `${path}/`, files: count }, text);
    }
  }
  batch.finish();
};
