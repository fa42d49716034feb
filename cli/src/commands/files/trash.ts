import { hiddenRecords, recordsAbove, recordsOf, type TrashEntry, Tree } from '@szafa/client/node';
import type { Command, Invocation } from '../../command.ts';
import { CliError, unknownSubcommand } from '../../errors.ts';
import { withAccount } from '../../lib/account/connection.ts';
import { longRow } from '../../lib/print/tables.ts';
import { formatTime, oneLine, plural } from '../../lib/print/text.ts';
import { checkCanConfirm, confirmRemoval, planRemoval } from '../../lib/select/removal.ts';
import { findAllTargets, targetPath } from '../../lib/select/selection.ts';
import { countFiles } from '../../lib/transfer/progress.ts';

/** Finds the entries for the arguments: all versions of a file, everything in a folder. `withParents` adds the records of parent folders. */
function findInTrash(trash: readonly TrashEntry[], invocation: Invocation, withParents = false) {
  const tree = new Tree(trash);
  const ids = new Set<string>();
  const add = (entries: Iterable<{ fileId: string }>) => {
    for (const { fileId } of entries) ids.add(fileId);
  };
  for (const target of findAllTargets(tree, invocation).flatMap(({ targets }) => targets)) {
    if ('file' in target) add(target.version ? [target.version] : recordsOf(target.file));
    else {
      for (const file of tree.within(target.folder)) add(recordsOf(file));
      for (const { markers } of tree.foldersWithin(target.folder)) add(markers);
    }
    if (withParents) add(recordsAbove(tree, targetPath(target)));
  }
  return trash.filter(({ fileId }) => ids.has(fileId));
}

/** Leaves out the records of folders that still have files in the trash. */
function withoutHidden(entries: readonly TrashEntry[], trash: readonly TrashEntry[]): TrashEntry[] {
  const hidden = hiddenRecords(trash);
  return entries.filter((entry) => !hidden.has(entry));
}

const listTrash = withAccount('useful', async ({ out, signal, szafa }) => {
  const trash = await szafa.listTrash({ signal });
  const entries = withoutHidden(trash, trash);
  for (const { fileId, path, size, trashedAt, expiresAt, verified } of entries) {
    const fields = { file_id: fileId, path, size, verified, trashed_at: trashedAt, expires_at: expiresAt };
    const text = longRow(size, trashedAt, fileId, `${oneLine(path)}  (until ${formatTime(expiresAt)})`);
    out.answer('trashed', fields, text);
  }
  if (entries.length === 0) out.note('empty', 'the trash is empty');
});

const emptyTrash = withAccount({ keys: 'useful', check: checkCanConfirm }, async (account) => {
  const { args, flags, out, batch, signal, szafa } = account;
  const trash = await szafa.listTrash({ signal });
  const entries = args.length === 0 ? trash : findInTrash(trash, account);
  const shown = withoutHidden(entries, trash);
  if (flags['dry-run']) planRemoval(account, 'remove', shown);
  else if (entries.length > 0) {
    const paths = shown.map(({ path }) => path);
    await confirmRemoval(account, paths, `${plural(shown.length, 'file')} in the trash`);
    const removed = await szafa.emptyTrash({ entries, signal, onProgress: countFiles(out, 'deleting') });
    const others = Math.min(entries.length - removed, shown.length);
    const files = shown.length - others;
    out.done('emptied', { files }, `deleted ${plural(files, 'file')} permanently`);
    if (others > 0) out.note('not-in-trash', `${plural(others, 'file')} not in the trash any more`);
  } else if (batch.failed === 0) out.note('empty', 'the trash is empty');
});

export const trash: Command = async (invocation) => {
  const [what, ...args] = invocation.args;
  if (what === undefined) return listTrash(invocation);
  if (what === 'empty') return emptyTrash({ ...invocation, args });
  throw unknownSubcommand('trash', what);
};

export const restore = withAccount('useful', async (account) => {
  const { out, signal, szafa } = account;
  const all = await szafa.listTrash({ signal });
  if (all.length === 0) {
    const hint = 'for an older version of a file see szafa versions';
    throw new CliError('no-file', 'the trash is empty', hint);
  }
  const entries = findInTrash(all, account, true);
  if (entries.length > 0) await szafa.restore(entries, { signal, onProgress: countFiles(out, 'restoring') });
  for (const { fileId, path } of withoutHidden(entries, all)) {
    out.done('restored', { file_id: fileId, path }, `restored ${oneLine(path)}`);
  }
});
