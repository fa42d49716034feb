import type { FileNode, Folder } from '@szafa/client/node';
import type { Command } from '../../command.ts';
import { connect } from '../../lib/account/connection.ts';
import { showFile, showFolder } from '../../lib/print/tables.ts';
import { Lookup } from '../../lib/select/lookup.ts';
import { namedAll } from '../../lib/select/selection.ts';
import { Batch } from '../../lib/transfer/batch.ts';

export const command: Command = async (invocation) => {
  const { args, flags, out, signal } = invocation;
  await using connection = await connect(invocation, { keys: 'useful' });
  const tree = await new Lookup(connection.szafa, signal).tree();
  const batch = new Batch(out);
  const long = flags.long ?? false;
  const file = (one: FileNode, shown: string) => showFile(out, one, { long, shown });
  const folder = (one: Folder, shown: string) => showFolder(out, one, { long, shown });
  const within = ({ folders, files }: Folder, before: string) => {
    for (const inner of folders) {
      folder(inner, before + inner.name);
      if (flags.recursive) within(inner, `${before}${inner.name}/`);
    }
    for (const inner of files) file(inner, before + inner.name);
  };
  const names = args.length > 0 ? args : ['/'];
  for (const { targets, kind } of namedAll(tree, { ...invocation, args: names }, batch)) {
    for (const target of targets) {
      if ('file' in target) file(target.file, target.file.path);
      else if (kind === 'folder') within(target.folder, '');
      // Named from the top, so that it can be given to another command.
      else folder(target.folder, target.folder.path);
    }
  }
  batch.finish();
};
