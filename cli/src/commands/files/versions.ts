import { type Entry, type FileNode, type PruneOptions, prunable, type Tree } from '@szafa/client/node';
import type { Command, Invocation } from '../../command.ts';
import { CliError, UsageError } from '../../errors.ts';
import { type AccountInvocation, withAccount } from '../../lib/account/connection.ts';
import { parseAge, parseCount } from '../../lib/print/quantities.ts';
import { longRow, remark } from '../../lib/print/tables.ts';
import { formatBytes, oneLine, plural, shownName } from '../../lib/print/text.ts';
import { checkCanConfirm, confirmRemoval, planRemoval, removeFiles } from '../../lib/select/removal.ts';
import { findAllTargets, findTargets, orEverything } from '../../lib/select/selection.ts';
import { countFiles } from '../../lib/transfer/progress.ts';

async function findFile({ out, lookup }: AccountInvocation, text: string): Promise<FileNode> {
  const [target, ...more] = findTargets(await lookup.tree(), text, out).targets;
  if (target && more.length === 0 && 'file' in target) return target.file;
  const hint = 'name a file; szafa ls -l shows how many versions each has';
  throw new UsageError(`${shownName(text)} is not one file`, hint);
}

/** Upload time: the one sealed by the uploading machine if there is one, otherwise the server's. */
function addedAt({ age, createdAt }: Entry): string {
  return age ? new Date(age.added).toISOString() : createdAt;
}

const listVersions = withAccount('useful', async (account) => {
  const { args, out, signal, szafa } = account;
  const file = await findFile(account, args[0]!);
  const { path, versions } = file;
  // The order of versions with a plain name is only the server's word, so read their headers.
  const isSorted = file.verified || !szafa.keys.unlocked;
  const opened = isSorted ? [] : await szafa.versions(versions, { signal });
  const sorted = opened.length > 0 ? opened.map(({ entry }) => entry) : versions;
  for (const [at, entry] of sorted.entries()) {
    const { fileId, size, verified } = entry;
    const added = addedAt(entry);
    const fields = { file_id: fileId, path, size, added_at: added, newest: at === 0, verified };
    const name = `${oneLine(path)}${at === 0 ? '  (newest)' : ''}${remark(entry)}`;
    out.answer('version', fields, longRow(size, added, fileId, name));
  }
});

const restoreVersion = withAccount('needed', async (account) => {
  const { args, out, signal, szafa, lookup } = account;
  const [, text = '', id = ''] = args;
  const { path, versions, entry: newest } = await findFile(account, text);
  const [entry, another] = versions.filter(({ fileId }) => fileId.startsWith(id));
  if (!entry || another) {
    const why = entry ? 'several versions have such an ID' : 'it has no version with this ID';
    const hint = `szafa versions ${oneLine(path)} shows them`;
    throw new CliError('no-version', `${shownName(path)}: ${why}`, hint);
  }
  if (entry === newest) {
    out.note('same', `that is already the newest version of ${oneLine(path)}`);
    return;
  }
  const fileId = await szafa.copyTo(entry, path, { tree: await lookup.tree(), asVersion: true, signal });
  const message = `restored the version of ${oneLine(path)} from ${addedAt(entry)}`;
  out.done('restored', { file_id: fileId, source_id: entry.fileId, path }, message);
});

export const versions: Command = async (invocation) => {
  const [first = '', path, id] = invocation.args;
  if (path === undefined) return listVersions(invocation);
  if (first === 'restore' && id !== undefined) return restoreVersion(invocation);
  const hint = 'szafa versions PATH shows the IDs';
  if (first === 'restore') throw new UsageError('versions restore needs PATH and ID', hint);
  throw new UsageError('versions takes one PATH', 'see szafa versions --help');
};

const MOST_KEPT = 1_000_000;

function readRule({ flags: { keep, older } }: Invocation): PruneOptions {
  if (keep === undefined && older === undefined) {
    const hint = 'as in szafa prune --keep 5 --older 30d';
    throw new UsageError('prune needs --keep N, --older TIME or both', hint);
  }
  return {
    ...(keep !== undefined && { keep: parseCount('keep', keep, MOST_KEPT) }),
    ...(older !== undefined && { olderThan: Date.now() - parseAge('older', older) }),
  };
}

function check(invocation: Invocation): void {
  readRule(invocation);
  if (invocation.flags.now) checkCanConfirm(invocation);
}

export const prune = withAccount({ keys: 'needed', check }, async (account) => {
  const { flags, out, batch, signal, szafa, lookup } = account;
  const rule = readRule(account);
  const tree = await lookup.tree();
  const targets = findAllTargets(tree, orEverything(account)).flatMap((match) => match.targets);
  const files = new Set(
    targets.flatMap((target) => ('file' in target ? [target.file] : [...tree.within(target.folder)])),
  );
  const entries = [...files].flatMap((file) => prunable(file, rule));
  const bytes = entries.reduce((sum, { size }) => sum + size, 0);
  const what = plural(entries.length, 'older version');
  if (flags['dry-run']) planRemoval(account, flags.now ? 'remove' : 'trash', entries);
  else if (entries.length > 0 && flags.now) {
    await confirmRemoval(account, [...new Set(entries.map(({ path }) => path))], what);
    const before = batch.failed;
    const select = (now: Tree) =>
      [...files].flatMap(({ path }) => now.file(path) ?? []).flatMap((file) => prunable(file, rule));
    await removeFiles(account, entries, { select });
    if (batch.failed > before) return;
  } else if (entries.length > 0) {
    await szafa.trash(entries, { signal, onProgress: countFiles(out, 'moving to the trash') });
    for (const { fileId, path } of entries) {
      out.done('trashed', { path, file_ids: [fileId] }, `moved ${oneLine(path)} (${fileId}) to the trash`);
    }
  }
  const done = flags['dry-run'] ? 'would be removed' : flags.now ? 'deleted' : 'moved to the trash';
  out.done('pruned', { versions: entries.length, bytes }, `${what}, ${formatBytes(bytes)}, ${done}`);
});
