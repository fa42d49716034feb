import {
  checkPath,
  type Entry,
  type Folder,
  isWithin,
  joinPath,
  lastOf,
  type Move,
  parentOf,
  type Tree,
} from '@szafa/client/node';
import type { Command, Invocation } from '../../command.ts';
import { CliError, UsageError } from '../../errors.ts';
import { connect } from '../../lib/account/connection.ts';
import { oneLine, plural } from '../../lib/print/text.ts';
import { Lookup } from '../../lib/select/lookup.ts';
import { shownName, typedPath } from '../../lib/select/paths.ts';
import {
  findNewest,
  findTargets,
  requireProven,
  type Target,
  targetPath,
} from '../../lib/select/selection.ts';
import { Batch } from '../../lib/transfer/batch.ts';
import { countFiles } from '../../lib/transfer/progress/progress.ts';

export const mkdir: Command = async (invocation) => {
  const { args, flags, out, signal } = invocation;
  const plain = flags['plain-names'] ?? false;
  for (const arg of args) checkPath(typedPath(arg));
  if (plain && args.some((arg) => typedPath(arg).includes('/'))) {
    throw new UsageError('--plain-names is for top-level folders', 'omit --plain-names');
  }
  await using szafa = await connect(invocation, { keys: plain ? 'useful' : 'needed' });
  const batch = new Batch(out);
  await batch.run(args, { signal, about: (arg) => arg }, async (arg) => {
    const path = typedPath(arg);
    // Listed each time, with the folders that were just made.
    const tree = await new Lookup(szafa, signal).tree();
    if (tree.has(path)) {
      if (flags.parents && tree.folder(path)) return;
      throw new CliError('exists', `${shownName(path)} already exists`, 'szafa ls shows it');
    }
    const parent = parentOf(path);
    if (!flags.parents && !tree.folder(parent)) {
      const hint = `create the folders above it as well: szafa mkdir -p ${oneLine(path)}`;
      throw new CliError('no-folder', `there is no folder ${shownName(parent)}`, hint);
    }
    if (plain) await szafa.makeDir(path, { plain, signal });
    else await szafa.makeFolder(path, { tree, signal });
    out.done('folder', { path }, `created ${oneLine(path)}/`);
  });
  batch.finish();
};

/** A target, and its new path. */
interface Relocation {
  target: Target;
  to: string;
}

/** Plans mv or cp: into the last argument if that is a folder, ends in a slash, or there are several; otherwise it is the new path. */
function planRelocations(tree: Tree, { args, out }: Pick<Invocation, 'args' | 'out'>): Relocation[] {
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

/** Moves all files at once, or none; then the folders one after the other. */
async function relocate(invocation: Invocation, plan: (tree: Tree) => Relocation[]): Promise<void> {
  const { flags, out, signal } = invocation;
  await using szafa = await connect(invocation, { keys: 'needed' });
  const tree = await new Lookup(szafa, signal).tree();
  const all = plan(tree).filter(({ target, to }) => targetPath(target) !== to);
  if (all.length === 0) out.note('same', 'nothing was moved: everything is there already');
  const options = { signal, asVersion: flags.yes ?? false, onProgress: countFiles(out, 'moving') };
  const moves: Move[] = [];
  const folders: { folder: Folder; to: string }[] = [];
  for (const { target, to } of all) {
    if ('folder' in target) folders.push({ folder: target.folder, to });
    else {
      await requireProven(szafa, target.file.versions, signal);
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

export const mv: Command = (invocation) => relocate(invocation, (tree) => planRelocations(tree, invocation));

export const rename: Command = async (invocation) => {
  const { args, out } = invocation;
  const [arg = '', name = ''] = args;
  if (name === '' || name.includes('/')) {
    throw new UsageError(`${shownName(name)} is not a name`, 'to move it elsewhere use szafa mv');
  }
  return relocate(invocation, (tree) => {
    const [target, ...more] = findTargets(tree, arg, out).targets;
    if (!target || more.length > 0 || targetPath(target) === '') {
      throw new UsageError('rename takes one file or folder', 'to move several into a folder use szafa mv');
    }
    const to = joinPath(parentOf(targetPath(target)), name);
    if (tree.folder(to) && targetPath(target) !== to) {
      throw new CliError('exists', `there is already a folder ${shownName(to)}`, 'choose another name');
    }
    return [{ target, to }];
  });
};

const PARALLEL_COPIES = 4;

/** A file with its versions, or a folder with its markers. */
type Copy = { from: string; to: string } & (
  | { among: readonly Entry[] }
  | { markers: Entry[]; isEmpty: boolean }
);

/** Copies the newest version of each file. */
function* planCopies(tree: Tree, { target, to }: Relocation, recursive: boolean): Generator<Copy> {
  if ('file' in target) {
    yield { among: target.version ? [target.version] : target.file.versions, from: target.file.path, to };
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
    yield { among: file.versions, from: file.path, to: to + file.path.slice(path.length) };
  }
  for (const { path: from, markers, files, folders } of tree.foldersWithin(target.folder)) {
    const isEmpty = files.length + folders.length === 0;
    if (isEmpty || markers.length > 0) yield { markers, isEmpty, from, to: to + from.slice(path.length) };
  }
}

export const cp: Command = async (invocation) => {
  const { flags, out, signal } = invocation;
  await using szafa = await connect(invocation, { keys: 'needed' });
  const tree = await new Lookup(szafa, signal).tree();
  const copies = planRelocations(tree, invocation).flatMap((one) => [
    ...planCopies(tree, one, flags.recursive ?? false),
  ]);
  const batch = new Batch(out);
  const onProgress = countFiles(out, 'copying');
  const hardlinks = new Map<string, string>();
  const options = { signal, parallel: PARALLEL_COPIES, about: ({ from }: Copy) => from };
  await batch.run(copies, options, async ({ from, to, ...copy }) => {
    if ('markers' in copy) {
      if (!tree.folder(to)) {
        const kept = await szafa.folderAttributes(copy, { signal });
        await szafa.makeFolder(to, { tree, ...kept, signal });
      }
      const text = `copied ${oneLine(from)}/ to ${oneLine(to)}/`;
      if (copy.isEmpty) out.done('copied', { from: `${from}/`, to: `${to}/` }, text);
      return;
    }
    const entry = await findNewest(szafa, copy.among, signal);
    await requireProven(szafa, [entry], signal);
    const asVersion = flags.yes ?? false;
    const fileId = await szafa.copyTo(entry, to, { tree, signal, asVersion, hardlinks });
    const fields = { file_id: fileId, source_id: entry.fileId, from, to };
    out.done('copied', fields, `copied ${oneLine(from)} to ${oneLine(to)}  ${oneLine(fileId)}`);
    onProgress(batch.done, copies.length);
  });
  batch.finish();
};
