import { type Entry, recordsOf, type Tree } from '@szafa/client/node';
import type { Invocation } from '../../command.ts';
import { CliError } from '../../errors.ts';
import type { AccountInvocation } from '../account/connection.ts';
import { canAsk, confirm } from '../account/secrets.ts';
import { oneLine, plural, shorten } from '../print/text.ts';
import { countFiles } from '../transfer/progress.ts';
import { createLookup } from './lookup.ts';

const PARALLEL = 4;
const MOST_SHOWN = 5;

/** Fails early, before any request, if a permanent deletion could not be confirmed: no terminal and no --yes. */
export function checkCanConfirm({ flags }: Invocation): void {
  if (flags.yes || flags['dry-run'] || canAsk()) return;
  const hint = 'use --yes to delete without a question';
  throw new CliError('not-confirmed', 'nothing was deleted: there is no terminal to ask on', hint);
}

export async function confirmRemoval(
  { flags, signal }: Invocation,
  paths: readonly string[],
  what: string,
): Promise<void> {
  if (flags.yes) return;
  const names = paths.slice(0, MOST_SHOWN).map((path) => shorten(oneLine(path), 60));
  const shown = paths.length > MOST_SHOWN ? `${names.join(', ')}, …` : names.join(', ');
  if (await confirm(`delete ${what} permanently: ${shown}?`, signal)) return;
  throw new CliError('kept', 'nothing was deleted', 'answer y, or use --yes');
}

const everything = (tree: Tree): Entry[] =>
  [...tree.foldersWithin(tree.top)].flatMap((folder) => [
    ...folder.files.flatMap(recordsOf),
    ...folder.markers,
  ]);

interface RemovalOptions {
  /** Selects the files that may still be deleted from a tree listed after the question. */
  select?: (tree: Tree) => Entry[];
  /** Entries to delete without reporting them: records of folders that are not empty. */
  silent?: Set<Entry>;
}

/** Deletes files permanently and reports each one. */
export async function removeFiles(
  { szafa, batch, out, signal, flags }: AccountInvocation,
  entries: readonly Entry[],
  { select = everything, silent }: RemovalOptions = {},
): Promise<void> {
  const onProgress = countFiles(out, 'deleting');
  const now = flags.yes ? undefined : select(await createLookup(szafa, signal).tree());
  const paths = now && new Map(now.map(({ fileId, path }) => [fileId, path]));
  // The user did not agree to delete files that another device renamed or moved while the question was open.
  const confirmed = entries.filter(({ fileId, path }) => {
    if (!paths || paths.get(fileId) === path) return true;
    const message = 'another device has changed this in the meantime; not deleted';
    batch.fail(new CliError('changed', message, 'szafa ls shows what is there now'), path);
    return false;
  });
  const remove = async (entry: Entry) => {
    const { fileId, path } = entry;
    await szafa.remove(fileId, { signal });
    if (silent?.has(entry)) {
      batch.done--;
      return;
    }
    out.done('removed', { file_id: fileId, path }, `deleted ${oneLine(path)}`);
    onProgress(batch.done, confirmed.length);
  };
  await batch.each(confirmed, remove, { parallel: PARALLEL });
}

/** Reports what a dry run would remove. `folders`: paths of empty folders. */
export function planRemoval(
  { out }: Invocation,
  action: 'trash' | 'remove',
  entries: readonly Pick<Entry, 'fileId' | 'path' | 'size'>[],
  folders: readonly string[] = [],
): void {
  const verb = action === 'trash' ? 'would move to the trash' : 'would delete permanently';
  for (const { fileId, path, size } of entries) {
    out.done('planned', { action, path, file_id: fileId, size }, `${verb}: ${oneLine(path)}`);
  }
  for (const path of folders) out.done('planned', { action, path, size: 0 }, `${verb}: ${oneLine(path)}`);
  if (entries.length > 1) out.note('planned', plural(entries.length, 'file'));
}
