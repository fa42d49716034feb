import { type Entry, recordsOf, type Szafa, type Tree } from '@szafa/client/node';
import type { Invocation } from '../../command.ts';
import { CliError } from '../../errors.ts';
import { canAsk, confirm } from '../account/questions.ts';
import { oneLine, plural, shorten } from '../print/text.ts';
import type { Batch } from '../transfer/batch.ts';
import { counted } from '../transfer/progress/counted.ts';
import { Lookup } from './lookup.ts';

const PARALLEL = 4;

/** Before anything is asked of the server: what is final needs a yes from somebody. */
export function checkCanConfirm({ flags }: Invocation): void {
  if (flags.yes || flags['dry-run'] || canAsk()) return;
  throw new CliError(
    'not-confirmed',
    'nothing was deleted: there is no terminal to ask on',
    'use --yes to delete without a question',
  );
}

export async function confirmFinal(
  { flags, signal }: Invocation,
  paths: readonly string[],
  what: string,
): Promise<void> {
  if (flags.yes) return;
  const names = paths.slice(0, 5).map((path) => shorten(oneLine(path), 60));
  const shown = paths.length > 5 ? `${names.join(', ')}, …` : names.join(', ');
  if (await confirm(`delete ${what} for good: ${shown}?`, signal)) return;
  throw new CliError('kept', 'nothing was deleted', 'answer y, or use --yes');
}

const everything = (tree: Tree): Entry[] =>
  [...tree.foldersWithin(tree.top)].flatMap(({ files, markers }) => [
    ...files.flatMap(recordsOf),
    ...markers,
  ]);

/** An answer takes its time: what another device has renamed since, or moved elsewhere, is not what somebody said yes to. */
async function asAsked(
  szafa: Szafa,
  entries: readonly Entry[],
  batch: Batch,
  { signal, meant }: { signal: AbortSignal; meant: (tree: Tree) => Entry[] },
): Promise<Entry[]> {
  const now = meant(await new Lookup(szafa, signal).tree());
  const paths = new Map(now.map(({ fileId, path }) => [fileId, path]));
  return entries.filter(({ fileId, path }) => {
    if (paths.get(fileId) === path) return true;
    const hint = 'szafa ls shows what is there now';
    batch.fail(new CliError('changed', 'another device has changed this meanwhile; not deleted', hint), path);
    return false;
  });
}

/** Files for good, each told; what fails is left to the batch. `meant`: of a list that is read after the question, what may go; `silent`: records of folders that are not empty. */
export async function removeFiles(
  szafa: Szafa,
  asked: readonly Entry[],
  { out, signal, flags }: Invocation,
  batch: Batch,
  { meant = everything, silent = new Set() }: { meant?: (tree: Tree) => Entry[]; silent?: Set<Entry> } = {},
): Promise<void> {
  const entries = flags.yes ? asked : await asAsked(szafa, asked, batch, { signal, meant });
  const progress = counted(out, 'deleting');
  const options = { out, signal, parallel: PARALLEL, about: ({ path }: Entry) => path };
  await batch.run(entries, options, async (entry) => {
    const { fileId, path } = entry;
    await szafa.remove(fileId, { signal });
    if (silent.has(entry)) {
      batch.done--;
      return;
    }
    out.done('removed', { file_id: fileId, path }, `deleted ${oneLine(path)}`);
    progress(batch.done, entries.length);
  });
}

/** What would be done, without being done. `folders`: those with nothing in them. */
export function planRemoval(
  { out }: Invocation,
  action: 'trash' | 'remove',
  entries: readonly Pick<Entry, 'fileId' | 'path' | 'size'>[],
  folders: readonly string[] = [],
): void {
  const verb = action === 'trash' ? 'would move to the trash' : 'would delete for good';
  for (const { fileId, path, size } of entries) {
    out.done('planned', { action, path, file_id: fileId, size }, `${verb}: ${oneLine(path)}`);
  }
  for (const path of folders) out.done('planned', { action, path, size: 0 }, `${verb}: ${oneLine(path)}`);
  if (entries.length > 1) out.note('planned', plural(entries.length, 'file'));
}
