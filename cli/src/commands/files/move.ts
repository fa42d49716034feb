import type { Entry, Folder, Move, Tree } from '@szafa/client/node';
import { checkPath, isWithin, joinPath, lastOf, parentOf } from '@szafa/client/node';
import type { Invocation } from '../../command.ts';
import { CliError, UsageError } from '../../errors.ts';
import { type AccountInvocation, withAccount } from '../../lib/account/connection.ts';
import { oneLine, plural, shownName, typedPath } from '../../lib/print/text.ts';
import { createLookup } from '../../lib/select/lookup.ts';
import type { Target } from '../../lib/select/selection.ts';
import { findNewest, findTargets, requireProven, targetPath } from '../../lib/select/selection.ts';
import { countFiles } from '../../lib/transfer/progress.ts';

function checkFolders({ args, flags }: Invocation): void {
  const paths = args.map((arg) => checkPath(typedPath(arg)));
  if (flags['plain-names'] && paths.some((path) => path.includes('/'))) {
    throw new UsageError('--plain-names is for top-level folders', 'omit --plain-names');
  }
}

const keysForMkdir = ({ flags }: Invocation) => (flags['plain-names'] ? 'useful' : 'needed');
const forMkdir = { keys: keysForMkdir, check: checkFolders } as const;

export const mkdir = withAccount(forMkdir, async ({ args, flags, out, batch, signal, szafa }) => {
  await batch.each(args, async (arg) => {
    const path = typedPath(arg);
    // List again for each argument: the tree must include the folders created before.
    const tree = await createLookup(szafa, signal).tree();
    if (tree.has(path)) {
      if (flags.parents && tree.folder(path)) return;
      throw new CliError('exists', `${shownName(path)} already exists`, 'szafa ls shows it');
    }
    const parent = parentOf(path);
    if (!flags.parents && !tree.folder(parent)) {
      const hint = `create the folders above it as well: szafa mkdir -p ${oneLine(path)}`;
      throw new CliError('no-folder', `there is no folder ${shownName(parent)}`, hint);
    }
    if (flags['plain-names']) await szafa.makeDir(path, { plain: true, signal });
    else await szafa.makeFolder(path, { tree, signal });
    out.done('folder', { path }, `created ${oneLine(path)}/`);
  });
});

/** A file or folder and its new path. */
interface Relocation {
  target: Target;
  to: string;
}

/** Plans mv or cp. The last argument is a folder to move into if it exists as one, ends in a slash, or there are several sources. */
function planRelocations(tree: Tree, { args, out }: Invocation): Relocation[] {
  const last = args.at(-1)!;
  const to = typedPath(last);
  const all = new Map<string, Target>();
  for (const arg of args.slice(0, -1)) {
    for (const target of findTargets(tree, arg, out).targets) all.set(targetPath(target), target);
  }
  if (all.has('')) throw new UsageError('cannot move or copy the root folder', "name what is in it, as '*'");
  const isInto = last.endsWith('/') || tree.folder(to) !== undefined || all.size > 1;
  if (isInto && tree.file(to)) {
    throw new CliError('exists', `${shownName(to)} is a file, not a folder`, 'name a folder as the last one');
  }
  return [...all.values()].map((target) => ({
    target,
    to: isInto ? joinPath(to, lastOf(targetPath(target))) : to,
  }));
}

/** Moves all files in one step, or none of them; then the folders one by one. */
async function relocate(account: AccountInvocation, plan: typeof planRelocations): Promise<void> {
  const { flags, out, signal, szafa, lookup } = account;
  const tree = await lookup.tree();
  const all = plan(tree, account).filter(({ target, to }) => targetPath(target) !== to);
  if (all.length === 0) out.note('same', 'nothing was moved: everything is there already');
  const options = { signal, asVersion: flags.yes ?? false, onProgress: countFiles(out, 'moving') };
  const moves: Move[] = [];
  const folders: { folder: Folder; to: string }[] = [];
  for (const { target, to } of all) {
    if ('folder' in target) folders.push({ folder: target.folder, to });
    else {
      await requireProven(account, target.file.versions);
      moves.push({ entry: target.file.entry, path: to });
    }
  }
  const report = (from: string, to: string, more: Record<string, unknown>, text = '') =>
    out.done('moved', { from, to, ...more }, `moved ${oneLine(from)} to ${oneLine(to)}${text}`);
  if (moves.length > 0) await szafa.rename(moves, { ...options, tree });
  for (const { entry, path } of moves) report(entry.path, path, { file_id: entry.fileId });
  for (const { folder, to } of folders) {
    // An earlier move may have changed the tree.
    await szafa.renameFolder(folder.path, to, { ...options, ...(all.length === 1 && { tree }) });
    report(`${folder.path}/`, `${to}/`, { files: folder.count }, `, ${plural(folder.count, 'file')}`);
  }
}

export const mv = withAccount('needed', (account) => relocate(account, planRelocations));

function checkName({ args: [, name = ''] }: Invocation): void {
  if (name !== '' && !name.includes('/')) return;
  throw new UsageError(`${shownName(name)} is not a name`, 'to move it elsewhere use szafa mv');
}

function planRename(tree: Tree, { args: [arg = '', name = ''], out }: Invocation): Relocation[] {
  const [target, ...more] = findTargets(tree, arg, out).targets;
  if (!target || more.length > 0 || targetPath(target) === '') {
    throw new UsageError('rename takes one file or folder', 'to move several into a folder use szafa mv');
  }
  const to = joinPath(parentOf(targetPath(target)), name);
  if (tree.folder(to) && targetPath(target) !== to) {
    throw new CliError('exists', `there is already a folder ${shownName(to)}`, 'choose another name');
  }
  return [{ target, to }];
}

export const rename = withAccount({ keys: 'needed', check: checkName }, (account) =>
  relocate(account, planRename),
);

const PARALLEL_COPIES = 4;

/** A file with its versions, or a folder with the records of its attributes. */
type Copy = { path: string; to: string } & (
  | { among: readonly Entry[] }
  | { markers: Entry[]; isEmpty: boolean }
);

/** Plans a copy of each file, and of each folder that is empty or has attributes. */
function* planCopies(tree: Tree, { target, to }: Relocation, recursive: boolean): Generator<Copy> {
  if ('file' in target) {
    const { file, version } = target;
    yield { among: version ? [version] : file.versions, path: file.path, to };
    return;
  }
  const { path } = target.folder;
  if (!recursive) {
    const hint = 'copy it with everything in it: cp -r';
    throw new CliError('is-folder', `${shownName(path)} is a folder`, hint);
  }
  if (isWithin(to, path)) {
    throw new CliError('name', 'a folder cannot be copied into itself', 'choose another place');
  }
  for (const file of tree.within(target.folder)) {
    yield { among: file.versions, path: file.path, to: to + file.path.slice(path.length) };
  }
  for (const { path: inner, markers, files, folders } of tree.foldersWithin(target.folder)) {
    const isEmpty = files.length + folders.length === 0;
    if (isEmpty || markers.length > 0) {
      yield { markers, isEmpty, path: inner, to: to + inner.slice(path.length) };
    }
  }
}

export const cp = withAccount('needed', async (account) => {
  const { flags, out, batch, signal, szafa, lookup } = account;
  const tree = await lookup.tree();
  const copies = planRelocations(tree, account).flatMap((one) => [
    ...planCopies(tree, one, flags.recursive ?? false),
  ]);
  const onProgress = countFiles(out, 'copying');
  const hardlinks = new Map<string, string>();
  const copyOne = async ({ path: from, to, ...copy }: Copy) => {
    if ('markers' in copy) {
      if (!tree.folder(to)) {
        const kept = await szafa.folderAttributes(copy, { signal });
        await szafa.makeFolder(to, { tree, ...kept, signal });
      }
      const text = `copied ${oneLine(from)}/ to ${oneLine(to)}/`;
      if (copy.isEmpty) out.done('copied', { from: `${from}/`, to: `${to}/` }, text);
      return;
    }
    const entry = await findNewest(account, copy.among);
    await requireProven(account, [entry]);
    const asVersion = flags.yes ?? false;
    const fileId = await szafa.copyTo(entry, to, { tree, signal, asVersion, hardlinks });
    const fields = { file_id: fileId, source_id: entry.fileId, from, to };
    out.done('copied', fields, `copied ${oneLine(from)} to ${oneLine(to)}  ${oneLine(fileId)}`);
    onProgress(batch.done, copies.length);
  };
  await batch.each(copies, copyOne, { parallel: PARALLEL_COPIES });
});
