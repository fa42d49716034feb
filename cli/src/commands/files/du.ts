import type { Folder, Tree } from '@szafa/client/node';
import type { Command } from '../../command.ts';
import { connect } from '../../lib/account/connection.ts';
import { formatBytes, oneLine } from '../../lib/print/text.ts';
import { Lookup } from '../../lib/select/lookup.ts';
import { namedAll } from '../../lib/select/selection.ts';
import { Batch } from '../../lib/transfer/batch.ts';

const COLUMNS = 11;

/** With the older versions, which take space as well. */
function sumOf(tree: Tree, folder: Folder): { size: number; older: number; files: number } {
  let older = 0;
  for (const { versions } of tree.within(folder)) {
    for (const version of versions.slice(1)) older += version.size;
  }
  return { size: folder.size, older, files: folder.count };
}

export const command: Command = async (invocation) => {
  const { args, flags, out, signal } = invocation;
  await using connection = await connect(invocation, { keys: 'useful' });
  const tree = await new Lookup(connection.szafa, signal).tree();
  const batch = new Batch(out);
  const show = (path: string, { size, older, files }: ReturnType<typeof sumOf>) => {
    const more = older > 0 ? `  (and ${formatBytes(older)} of older versions)` : '';
    const text = `${formatBytes(size).padStart(COLUMNS)}  ${oneLine(path)}${more}`;
    out.answer('usage', { path, size, older, files }, text);
  };
  const within = (folder: Folder) => {
    for (const inner of folder.folders) {
      if (flags.recursive) within(inner);
      show(`${inner.path}/`, sumOf(tree, inner));
    }
  };
  const names = args.length > 0 ? args : ['/'];
  for (const { targets } of namedAll(tree, { ...invocation, args: names }, batch)) {
    for (const target of targets) {
      if ('file' in target) {
        const { path, size, versions } = target.file;
        const older = versions.slice(1).reduce((sum, version) => sum + version.size, 0);
        show(path, { size, older, files: 1 });
      } else {
        within(target.folder);
        show(`${target.folder.path}/`, sumOf(tree, target.folder));
      }
    }
  }
  batch.finish();
};
