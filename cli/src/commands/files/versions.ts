import { type Entry, type FileNode, type PruneOptions, prunable, type Tree } from '@szafa/client/node';
import type { Command, Invocation } from '../../command.ts';
import { CliError, UsageError } from '../../errors.ts';
import { connect } from '../../lib/account/connection.ts';
import { parseAge, parseCount } from '../../lib/print/quantities.ts';
import { longRow, remark } from '../../lib/print/tables.ts';
import { formatBytes, oneLine, plural } from '../../lib/print/text.ts';
import { Lookup } from '../../lib/select/lookup.ts';
import { shownName } from '../../lib/select/paths.ts';
import { checkCanConfirm, confirmRemoval, planRemoval, removeFiles } from '../../lib/select/removal.ts';
import { findAllTargets, findTargets, orEverything } from '../../lib/select/selection.ts';
import { Batch } from '../../lib/transfer/batch.ts';
import { countFiles } from '../../lib/transfer/progress/progress.ts';

function findFile(tree: Tree, { out }: Invocation, text: string): FileNode {
  const [target, ...more] = findTargets(tree, text, out).targets;
  if (target && more.length === 0 && 'file' in target) return target.file;
  const hint = 'name a file; szafa ls -l shows how many versions each has';
  throw new UsageError(`${shownName(text)} is not one file`, hint);
}

/** By the sealed clock of the machine that uploaded it; by the server's only if there is none. */
function addedAt({ age, createdAt }: Entry): string {
  return age ? new Date(age.added).toISOString() : createdAt;
}

async function listVersions(invocation: Invocation, text: string): Promise<void> {
  const { out, signal } = invocation;
  await using szafa = await connect(invocation, { keys: 'useful' });
  const file = findFile(await new Lookup(szafa, signal).tree(), invocation, text);
  const { path, versions } = file;
  // With a plain name the headers tell which version is the newest, not the list.
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
}

async function restoreVersion(invocation: Invocation, text: string, id: string): Promise<void> {
  const { out, signal } = invocation;
  await using szafa = await connect(invocation, { keys: 'needed' });
  const tree = await new Lookup(szafa, signal).tree();
  const { path, versions, entry: newest } = findFile(tree, invocation, text);
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
  const fileId = await szafa.copyTo(entry, path, { tree, asVersion: true, signal });
  const message = `restored the version of ${oneLine(path)} from ${addedAt(entry)}`;
  out.done('restored', { file_id: fileId, source_id: entry.fileId, path }, message);
}

export const versions: Command = async (invocation) => {
  const [first = '', path, id] = invocation.args;
  if (path === undefined) return listVersions(invocation, first);
  if (first === 'restore' && id !== undefined) return restoreVersion(invocation, path, id);
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

export const prune: Command = async (invocation) => {
  const { flags, out, signal } = invocation;
  const rule = readRule(invocation);
  if (flags.now) checkCanConfirm(invocation);
  await using szafa = await connect(invocation, { keys: 'needed' });
  const tree = await new Lookup(szafa, signal).tree();
  const batch = new Batch(out);
  const matches = findAllTargets(tree, orEverything(invocation), batch);
  const targets = matches.flatMap((match) => match.targets);
  const files = new Set(
    targets.flatMap((target) => ('file' in target ? [target.file] : [...tree.within(target.folder)])),
  );
  const entries = [...files].flatMap((file) => prunable(file, rule));
  const bytes = entries.reduce((sum, { size }) => sum + size, 0);
  const what = plural(entries.length, 'older version');
  if (flags['dry-run']) planRemoval(invocation, flags.now ? 'remove' : 'trash', entries);
  else if (entries.length > 0 && flags.now) {
    await confirmRemoval(invocation, [...new Set(entries.map(({ path }) => path))], what);
    const before = batch.failed;
    const select = (now: Tree) =>
      [...files].flatMap(({ path }) => now.file(path) ?? []).flatMap((file) => prunable(file, rule));
    await removeFiles(szafa, entries, invocation, batch, { select });
    if (batch.failed > before) return batch.finish();
  } else if (entries.length > 0) {
    await szafa.trash(entries, { signal, onProgress: countFiles(out, 'moving to the trash') });
    for (const { fileId, path } of entries) {
      out.done('trashed', { path, file_ids: [fileId] }, `moved ${oneLine(path)} (${fileId}) to the trash`);
    }
  }
  const done = flags['dry-run'] ? 'would be removed' : flags.now ? 'deleted' : 'moved to the trash';
  out.done('pruned', { versions: entries.length, bytes }, `${what}, ${formatBytes(bytes)}, ${done}`);
  batch.finish();
};
