import { type Entry, isWithin, type Tree } from '@szafa/client/node';
import type { Command } from '../../command.ts';
import { CliError } from '../../errors.ts';
import { connect } from '../../lib/account/connection.ts';
import { oneLine } from '../../lib/print/text.ts';
import { Lookup } from '../../lib/select/lookup.ts';
import { shownName } from '../../lib/select/paths.ts';
import { newestOf, prove } from '../../lib/select/selection.ts';
import { Batch } from '../../lib/transfer/batch.ts';
import { counted } from '../../lib/transfer/progress/counted.ts';
import { journeys } from './mv.ts';

const PARALLEL = 4;

interface Copy {
  /** A folder has markers instead. */
  among?: readonly Entry[];
  markers?: Entry[];
  isEmpty?: boolean;
  from: string;
  to: string;
}

/** The newest version of each file. */
function* copiesOf(
  tree: Tree,
  journey: ReturnType<typeof journeys>[number],
  recursive: boolean,
): Generator<Copy> {
  const { target, to } = journey;
  if ('file' in target) {
    yield { among: target.version ? [target.version] : target.file.versions, from: target.file.path, to };
    return;
  }
  const { path } = target.folder;
  if (!recursive) {
    throw new CliError(
      'is-folder',
      `${shownName(path)} is a folder`,
      'copy it with all that is in it: cp -r',
    );
  }
  if (isWithin(to, path)) {
    throw new CliError('name', 'a folder cannot be copied into itself', 'choose another place');
  }
  for (const file of tree.within(target.folder)) {
    yield { among: file.versions, from: file.path, to: to + file.path.slice(path.length) };
  }
  for (const { path: from, markers, files, folders } of tree.foldersWithin(target.folder)) {
    const isEmpty = files.length + folders.length === 0;
    if (isEmpty || markers.length > 0) yield { markers, isEmpty, from, to: to + from.slice(path.length) };
  }
}

export const command: Command = async (invocation) => {
  const { flags, out, signal } = invocation;
  await using connection = await connect(invocation, { keys: 'needed' });
  const { szafa } = connection;
  const tree = await new Lookup(szafa, signal).tree();
  const copies = journeys(tree, invocation).flatMap((journey) => [
    ...copiesOf(tree, journey, flags.recursive ?? false),
  ]);
  const batch = new Batch(out);
  const progress = counted(out, 'copying');
  const hardlinks = new Map<string, string>();
  const options = { out, signal, parallel: PARALLEL, about: ({ from }: Copy) => from };
  await batch.run(copies, options, async ({ among, markers = [], isEmpty, from, to }) => {
    if (!among) {
      if (!tree.folder(to)) {
        const kept = await szafa.folderAttributes({ markers }, { signal });
        await szafa.makeFolder(to, { tree, ...kept, signal });
      }
      if (!isEmpty) return;
      out.done('copied', { from: `${from}/`, to: `${to}/` }, `copied ${oneLine(from)}/ to ${oneLine(to)}/`);
      return;
    }
    const entry = await newestOf(szafa, among, signal);
    await prove(szafa, [entry], signal);
    const copy = await szafa.copyTo(entry, to, { tree, signal, asVersion: flags.yes ?? false, hardlinks });
    const fields = { file_id: copy, source_id: entry.fileId, from, to };
    out.done('copied', fields, `copied ${oneLine(from)} to ${oneLine(to)}  ${oneLine(copy)}`);
    progress(batch.done, copies.length);
  });
  batch.finish();
};
