import {
  hiddenRecords,
  recordsAbove,
  recordsOf,
  type Szafa,
  type TrashEntry,
  Tree,
} from '@szafa/client/node';
import type { Command, Invocation } from '../../command.ts';
import { CliError, UsageError } from '../../errors.ts';
import { connect } from '../../lib/account/connection.ts';
import { row } from '../../lib/print/tables.ts';
import { formatTime, oneLine, plural } from '../../lib/print/text.ts';
import { checkCanConfirm, confirmFinal, planRemoval } from '../../lib/select/removal.ts';
import { namedAll } from '../../lib/select/selection.ts';
import { Batch } from '../../lib/transfer/batch.ts';
import { counted } from '../../lib/transfer/progress/counted.ts';

const HELP = 'see szafa trash --help';

/** The files in the trash that these arguments name, each with all its versions; a folder, all that was in it. `above`: also what is kept of the folders that they are in. */
function namedIn(
  trash: readonly TrashEntry[],
  invocation: Invocation,
  batch: Batch,
  above = false,
): TrashEntry[] {
  const tree = new Tree(trash);
  const ids = new Set<string>();
  for (const { targets } of namedAll(tree, invocation, batch)) {
    for (const target of targets) {
      const files = 'file' in target ? [target.file] : [...tree.within(target.folder)];
      const version = 'file' in target ? target.version : undefined;
      for (const { fileId } of version ? [version] : files.flatMap(recordsOf)) ids.add(fileId);
      const folders = 'folder' in target ? tree.foldersWithin(target.folder) : [];
      for (const { fileId } of [...folders].flatMap(({ markers }) => markers)) ids.add(fileId);
      const { path } = 'file' in target ? target.file : target.folder;
      if (above) for (const { fileId } of recordsAbove(tree, path)) ids.add(fileId);
    }
  }
  return trash.filter(({ fileId }) => ids.has(fileId));
}

async function list(invocation: Invocation): Promise<void> {
  const { out, signal } = invocation;
  await using connection = await connect(invocation, { keys: 'useful' });
  const trash = await connection.szafa.listTrash({ signal });
  const entries = withoutHidden(trash, trash);
  for (const { fileId, path, size, trashedAt, expiresAt, verified } of entries) {
    out.answer(
      'trashed',
      { file_id: fileId, path, size, verified, trashed_at: trashedAt, expires_at: expiresAt },
      row(size, trashedAt, fileId, `${oneLine(path)}  (until ${formatTime(expiresAt)})`),
    );
  }
  if (entries.length === 0) out.note('empty', 'the trash is empty');
}

async function empty(invocation: Invocation): Promise<void> {
  const { args, flags, out, signal } = invocation;
  checkCanConfirm(invocation);
  await using connection = await connect(invocation, { keys: 'useful' });
  const { szafa } = connection;
  const batch = new Batch(out);
  const trash = await szafa.listTrash({ signal });
  const entries = args.length === 0 ? trash : namedIn(trash, invocation, batch);
  const shown = withoutHidden(entries, trash);
  if (flags['dry-run']) planRemoval(invocation, 'remove', shown);
  else if (entries.length > 0) {
    const paths = shown.map(({ path }) => path);
    await confirmFinal(invocation, paths, `${plural(shown.length, 'file')} in the trash`);
    const removed = await szafa.emptyTrash({ entries, signal, onProgress: counted(out, 'deleting') });
    const others = Math.min(entries.length - removed, shown.length);
    const files = shown.length - others;
    out.done('emptied', { files }, `deleted ${plural(files, 'file')} for good`);
    if (others > 0) out.note('not-in-trash', `${plural(others, 'file')} not in the trash any more`);
  } else if (batch.failed === 0) out.note('empty', 'the trash is empty');
  batch.finish();
}

export const command: Command = async (invocation) => {
  const [what, ...args] = invocation.args;
  if (what === undefined) return list(invocation);
  if (what === 'empty') return empty({ ...invocation, args });
  throw new UsageError(`there is no "trash ${oneLine(what)}"`, HELP);
};

export const restore: Command = async (invocation) => {
  const { out, signal } = invocation;
  await using connection = await connect(invocation, { keys: 'useful' });
  const { szafa } = connection;
  const batch = new Batch(out);
  const trash = await trashOf(szafa, signal);
  const entries = namedIn(trash, invocation, batch, true);
  if (entries.length > 0) await szafa.restore(entries, { signal, onProgress: counted(out, 'restoring') });
  for (const { fileId, path } of withoutHidden(entries, trash)) {
    out.done('restored', { file_id: fileId, path }, `restored ${oneLine(path)}`);
  }
  batch.finish();
};

/** Without the records of folders that are not empty in the trash. */
function withoutHidden(entries: readonly TrashEntry[], trash: readonly TrashEntry[]): TrashEntry[] {
  const hidden = hiddenRecords(trash);
  return entries.filter((entry) => !hidden.has(entry));
}

async function trashOf(szafa: Szafa, signal: AbortSignal): Promise<TrashEntry[]> {
  const entries = await szafa.listTrash({ signal });
  if (entries.length > 0) return entries;
  throw new CliError('no-file', 'the trash is empty', 'for an older version of a file see szafa versions');
}
