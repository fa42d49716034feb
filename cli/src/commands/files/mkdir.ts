import { checkPath, parentOf } from '@szafa/client/node';
import type { Command } from '../../command.ts';
import { CliError, UsageError } from '../../errors.ts';
import { connect } from '../../lib/account/connection.ts';
import { oneLine } from '../../lib/print/text.ts';
import { Lookup } from '../../lib/select/lookup.ts';
import { shownName, typedPath } from '../../lib/select/paths.ts';
import { Batch } from '../../lib/transfer/batch.ts';

export const command: Command = async (invocation) => {
  const { args, flags, out, signal } = invocation;
  const plain = flags['plain-names'] ?? false;
  for (const arg of args) checkPath(typedPath(arg));
  if (plain && args.some((arg) => typedPath(arg).includes('/'))) {
    throw new UsageError('--plain-names is for folders at the top', 'omit --plain-names');
  }
  await using connection = await connect(invocation, { keys: plain ? 'useful' : 'needed' });
  const { szafa } = connection;
  const batch = new Batch(out);
  await batch.run(args, { out, signal, parallel: 1, about: (arg) => arg }, async (arg) => {
    const path = typedPath(arg);
    // Each sees what was made before it.
    const tree = await new Lookup(szafa, signal).tree();
    if (tree.has(path)) {
      if (flags.parents && tree.folder(path)) return;
      throw new CliError('exists', `${shownName(path)} already exists`, 'szafa ls shows it');
    }
    const parent = parentOf(path);
    if (!flags.parents && !tree.folder(parent)) {
      const hint = `make the folders above it as well: szafa mkdir -p ${oneLine(path)}`;
      throw new CliError('no-folder', `there is no folder ${shownName(parent)}`, hint);
    }
    if (plain) await szafa.makeDir(path, { plain, signal });
    else await szafa.makeFolder(path, { tree, signal });
    out.done('folder', { path }, `created ${oneLine(path)}/`);
  });
  batch.finish();
};
