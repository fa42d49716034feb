import { type FileNode, type PruneOptions, prunable } from '@szafa/client/node';
import type { Command, Invocation } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import { connect } from '../../lib/account/connection.ts';
import { parseAge, parseCount } from '../../lib/print/quantities.ts';
import { formatBytes, oneLine, plural } from '../../lib/print/text.ts';
import { Lookup } from '../../lib/select/lookup.ts';
import { checkCanConfirm, confirmFinal, planRemoval, removeFiles } from '../../lib/select/removal.ts';
import { namedAll } from '../../lib/select/selection.ts';
import { Batch } from '../../lib/transfer/batch.ts';
import { counted } from '../../lib/transfer/progress/counted.ts';

const MOST_KEPT = 1_000_000;

function ruleOf({ flags: { keep, older } }: Invocation): PruneOptions {
  if (keep === undefined && older === undefined) {
    throw new UsageError(
      'prune needs --keep N, --older TIME or both',
      'as in szafa prune --keep 5 --older 30d',
    );
  }
  return {
    ...(keep !== undefined && { keep: parseCount('keep', keep, MOST_KEPT) }),
    ...(older !== undefined && { olderThan: Date.now() - parseAge('older', older) }),
  };
}

export const command: Command = async (invocation) => {
  const { args, flags, out, signal } = invocation;
  const rule = ruleOf(invocation);
  if (flags.now) checkCanConfirm(invocation);
  await using connection = await connect(invocation, { keys: 'needed' });
  const { szafa } = connection;
  const tree = await new Lookup(szafa, signal).tree();
  const batch = new Batch(out);
  const names = args.length > 0 ? args : ['/'];
  const files = new Set<FileNode>();
  for (const { targets } of namedAll(tree, { ...invocation, args: names }, batch)) {
    for (const target of targets) {
      for (const file of 'file' in target ? [target.file] : tree.within(target.folder)) files.add(file);
    }
  }
  const entries = [...files].flatMap((file) => prunable(file, rule));
  const bytes = entries.reduce((sum, { size }) => sum + size, 0);
  const what = plural(entries.length, 'older version');
  if (flags['dry-run']) planRemoval(invocation, flags.now ? 'remove' : 'trash', entries);
  else if (entries.length > 0 && flags.now) {
    await confirmFinal(invocation, [...new Set(entries.map(({ path }) => path))], what);
    const before = batch.failed;
    await removeFiles(szafa, entries, invocation, batch, {
      meant: (now) =>
        [...files].flatMap(({ path }) => now.file(path) ?? []).flatMap((file) => prunable(file, rule)),
    });
    if (batch.failed > before) return batch.finish();
  } else if (entries.length > 0) {
    await szafa.trash(entries, { signal, onProgress: counted(out, 'moving to the trash') });
    for (const { fileId, path } of entries) {
      out.done('trashed', { path, file_ids: [fileId] }, `moved ${oneLine(path)} (${fileId}) to the trash`);
    }
  }
  const done = flags['dry-run'] ? 'would go' : flags.now ? 'deleted' : 'moved to the trash';
  out.done('pruned', { versions: entries.length, bytes }, `${what}, ${formatBytes(bytes)}, ${done}`);
  batch.finish();
};
