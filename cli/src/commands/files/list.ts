import { type FileNode, type Folder, fold } from '@szafa/client/node';
import { CliError } from '../../errors.ts';
import { withAccount } from '../../lib/account/connection.ts';
import { showFile, showFolder } from '../../lib/print/tables.ts';
import { formatBytes, oneLine, shownName } from '../../lib/print/text.ts';
import { isPattern, namePattern } from '../../lib/select/glob.ts';
import { findAllTargets, findTargets, orEverything } from '../../lib/select/selection.ts';

export const ls = withAccount('useful', async (invocation) => {
  const { flags, out, lookup } = invocation;
  const long = flags.long ?? false;
  const show = ({ folders, files }: Folder, before: string) => {
    for (const inner of folders) {
      showFolder(out, inner, long, before + inner.name);
      if (flags.recursive) show(inner, `${before}${inner.name}/`);
    }
    for (const inner of files) showFile(out, inner, long, before + inner.name);
  };
  for (const { targets, kind } of findAllTargets(await lookup.tree(), orEverything(invocation))) {
    for (const target of targets) {
      // Show the whole path, so that it can be passed to another command.
      if ('file' in target) showFile(out, target.file, long, target.file.path);
      else if (kind === 'folder') show(target.folder, '');
      else showFolder(out, target.folder, long, target.folder.path);
    }
  }
});

export const find = withAccount('useful', async ({ args, flags, out, lookup }) => {
  const [text = '', where = '/'] = args;
  const tree = await lookup.tree();
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
        showFolder(out, inner, long, inner.path);
      }
      look(inner);
    }
    for (const file of folder.files.filter(isMatch)) {
      found++;
      showFile(out, file, long, file.path);
    }
  };
  for (const target of findTargets(tree, where, out).targets) if ('folder' in target) look(target.folder);
  if (found > 0) return;
  const hint = '* and ? stand for letters, letter case and accents do not matter; szafa ls -R shows all';
  throw new CliError('no-file', `no name matches ${shownName(text)}`, hint);
});

const SIZE_COLUMNS = 11;

export const du = withAccount('useful', async (invocation) => {
  const { flags, out, lookup } = invocation;
  const tree = await lookup.tree();
  const show = (path: string, size: number, all: FileNode[]) => {
    const versions = all.flatMap((file) => file.versions.slice(1));
    const older = versions.reduce((sum, version) => sum + version.size, 0);
    const more = older > 0 ? `  (and ${formatBytes(older)} of older versions)` : '';
    const text = `${formatBytes(size).padStart(SIZE_COLUMNS)}  ${oneLine(path)}${more}`;
    out.answer('usage', { path, size, older, files: all.length }, text);
  };
  const showFolderUsage = (folder: Folder) => show(`${folder.path}/`, folder.size, [...tree.within(folder)]);
  const showWithin = (folder: Folder) => {
    for (const inner of folder.folders) {
      if (flags.recursive) showWithin(inner);
      showFolderUsage(inner);
    }
  };
  for (const target of findAllTargets(tree, orEverything(invocation)).flatMap(({ targets }) => targets)) {
    if ('file' in target) show(target.file.path, target.file.size, [target.file]);
    else {
      showWithin(target.folder);
      showFolderUsage(target.folder);
    }
  }
});
