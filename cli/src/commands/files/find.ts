import { type FileNode, type Folder, fold } from '@szafa/client/node';
import type { Command } from '../../command.ts';
import { CliError } from '../../errors.ts';
import { connect } from '../../lib/account/connection.ts';
import { showFile, showFolder } from '../../lib/print/tables.ts';
import { isPattern, namePattern } from '../../lib/select/glob.ts';
import { Lookup } from '../../lib/select/lookup.ts';
import { shownName } from '../../lib/select/paths.ts';
import { named } from '../../lib/select/selection.ts';

export const command: Command = async (invocation) => {
  const { args, flags, out, signal } = invocation;
  const [text = '', where = '/'] = args;
  await using connection = await connect(invocation, { keys: 'useful' });
  const tree = await new Lookup(connection.szafa, signal).tree();
  const wanted = fold(text);
  const pattern = isPattern(text) ? namePattern(wanted) : undefined;
  const fits = ({ name }: FileNode | Folder) =>
    pattern ? pattern.test(fold(name)) : fold(name).includes(wanted);
  const long = flags.long ?? false;
  let found = 0;
  const look = (folder: Folder) => {
    for (const inner of folder.folders) {
      if (fits(inner)) {
        found++;
        showFolder(out, inner, { long, shown: inner.path });
      }
      look(inner);
    }
    for (const file of folder.files) {
      if (!fits(file)) continue;
      found++;
      showFile(out, file, { long, shown: file.path });
    }
  };
  for (const target of named(tree, where, out).targets) if ('folder' in target) look(target.folder);
  if (found > 0) return;
  const hint = '* and ? stand for letters, letter case and accents do not matter; szafa ls -R shows all';
  throw new CliError('no-file', `no name fits ${shownName(text)}`, hint);
};
