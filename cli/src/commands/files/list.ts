import { type FileNode, type Folder, fold, type Tree } from '@szafa/client/node';
import type { Command } from '../../command.ts';
import { CliError } from '../../errors.ts';
import { connect } from '../../lib/account/connection.ts';
import { showFile, showFolder } from '../../lib/print/tables.ts';
import { formatBytes, oneLine } from '../../lib/print/text.ts';
import { isPattern, namePattern } from '../../lib/select/glob.ts';
import { Lookup } from '../../lib/select/lookup.ts';
import { shownName } from '../../lib/select/paths.ts';
import { findAllTargets, findTargets, orEverything } from '../../lib/select/selection.ts';
import { Batch } from '../../lib/transfer/batch.ts';

export const ls: Command = async (invocation) => {
  const { flags, out, signal } = invocation;
  await using szafa = await connect(invocation, { keys: 'useful' });
  const tree = await new Lookup(szafa, signal).tree();
  const batch = new Batch(out);
  const long = flags.long ?? false;
  const show = ({ folders, files }: Folder, before: string) => {
    for (const inner of folders) {
      showFolder(out, inner, { long, shown: before + inner.name });
      if (flags.recursive) show(inner, `${before}${inner.name}/`);
    }
    for (const inner of files) showFile(out, inner, { long, shown: before + inner.name });
  };
  for (const { targets, kind } of findAllTargets(tree, orEverything(invocation), batch)) {
    for (const target of targets) {
      if ('file' in target) showFile(out, target.file, { long, shown: target.file.path });
      else if (kind === 'folder') show(target.folder, '');
      // With the whole path, so that it can be given to another command.
      else showFolder(out, target.folder, { long, shown: target.folder.path });
    }
  }
  batch.finish();
};

export const find: Command = async (invocation) => {
  const { args, flags, out, signal } = invocation;
  const [text = '', where = '/'] = args;
  await using szafa = await connect(invocation, { keys: 'useful' });
  const tree = await new Lookup(szafa, signal).tree();
  const wanted = fold(text);
  const pattern = isPattern(text) ? namePattern(wanted) : undefined;
  const isMatch = ({ name }: FileNode | Folder) =>
    pattern ? pattern.test(fold(name)) : fold(name).includes(wanted);
  const long = flags.long ?? false;
  let found = 0;
  const look = (folder: Folder) => {
    for (const inner of folder.folders) {
      if (isMatch(inner)) {
        found++;
        showFolder(out, inner, { long, shown: inner.path });
      }
      look(inner);
    }
    for (const file of folder.files.filter(isMatch)) {
      found++;
      showFile(out, file, { long, shown: file.path });
    }
  };
  for (const target of findTargets(tree, where, out).targets) if ('folder' in target) look(target.folder);
  if (found > 0) return;
  const hint = '* and ? stand for letters, letter case and accents do not matter; szafa ls -R shows all';
  throw new CliError('no-file', `no name matches ${shownName(text)}`, hint);
};

const SIZE_COLUMNS = 11;

const olderBytes = ({ versions }: FileNode) => versions.slice(1).reduce((sum, { size }) => sum + size, 0);

function folderUsage(tree: Tree, folder: Folder) {
  let older = 0;
  for (const file of tree.within(folder)) older += olderBytes(file);
  return { size: folder.size, older, files: folder.count };
}

export const du: Command = async (invocation) => {
  const { flags, out, signal } = invocation;
  await using szafa = await connect(invocation, { keys: 'useful' });
  const tree = await new Lookup(szafa, signal).tree();
  const batch = new Batch(out);
  const show = (path: string, { size, older, files }: ReturnType<typeof folderUsage>) => {
    const more = older > 0 ? `  (and ${formatBytes(older)} of older versions)` : '';
    const text = `${formatBytes(size).padStart(SIZE_COLUMNS)}  ${oneLine(path)}${more}`;
    out.answer('usage', { path, size, older, files }, text);
  };
  const showWithin = (folder: Folder) => {
    for (const inner of folder.folders) {
      if (flags.recursive) showWithin(inner);
      show(`${inner.path}/`, folderUsage(tree, inner));
    }
  };
  for (const { targets } of findAllTargets(tree, orEverything(invocation), batch)) {
    for (const target of targets) {
      if ('file' in target) {
        const { file } = target;
        show(file.path, { size: file.size, older: olderBytes(file), files: 1 });
      } else {
        showWithin(target.folder);
        show(`${target.folder.path}/`, folderUsage(tree, target.folder));
      }
    }
  }
  batch.finish();
};
