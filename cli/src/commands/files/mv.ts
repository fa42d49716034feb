import { type Folder, joinPath, lastOf, type Move, parentOf, type Tree } from '@szafa/client/node';
import type { Command, Invocation } from '../../command.ts';
import { CliError, UsageError } from '../../errors.ts';
import { connect } from '../../lib/account/connection.ts';
import { oneLine, plural } from '../../lib/print/text.ts';
import { Lookup } from '../../lib/select/lookup.ts';
import { shownName, typedPath } from '../../lib/select/paths.ts';
import { named, prove, type Target } from '../../lib/select/selection.ts';
import { counted } from '../../lib/transfer/progress/counted.ts';

export interface Journey {
  target: Target;
  to: string;
}

export const pathOf = (target: Target) => ('file' in target ? target.file.path : target.folder.path);

/** Where each goes: into a folder that is there, or that is meant by a slash; one alone may get another name. */
export function journeys(tree: Tree, { args, out }: Pick<Invocation, 'args' | 'out'>): Journey[] {
  const last = args.at(-1)!;
  const to = typedPath(last);
  const all = new Map<string, Target>();
  for (const arg of args.slice(0, -1)) {
    for (const target of named(tree, arg, out).targets) all.set(pathOf(target), target);
  }
  if (all.has('')) throw new UsageError('the top itself stays where it is', "name what is in it, as '*'");
  const into = last.endsWith('/') || tree.folder(to) !== undefined || all.size > 1;
  if (into && tree.file(to)) {
    throw new CliError('exists', `${shownName(to)} is a file, not a folder`, 'name a folder as the last one');
  }
  return [...all.values()].map((target) => ({
    target,
    to: into ? joinPath(to, lastOf(pathOf(target))) : to,
  }));
}

/** Files go all at once, or none; folders one after the other. */
async function move(invocation: Invocation, plan: (tree: Tree) => Journey[]): Promise<void> {
  const { flags, out, signal } = invocation;
  await using connection = await connect(invocation, { keys: 'needed' });
  const { szafa } = connection;
  const tree = await new Lookup(szafa, signal).tree();
  const all = plan(tree).filter(({ target, to }) => pathOf(target) !== to);
  if (all.length === 0) out.note('same', 'nothing was moved: everything is there already');
  const options = { signal, asVersion: flags.yes ?? false, onProgress: counted(out, 'moving') };
  const moves: Move[] = [];
  const folders: { folder: Folder; to: string }[] = [];
  for (const { target, to } of all) {
    if ('folder' in target) folders.push({ folder: target.folder, to });
    else {
      await prove(szafa, target.file.versions, signal);
      moves.push({ entry: target.file.entry, path: to });
    }
  }
  if (moves.length > 0) await szafa.rename(moves, { ...options, tree });
  for (const { entry, path } of moves) tell(entry.path, path, { file_id: entry.fileId });
  for (const { folder, to } of folders) {
    // What went before may have changed what is there.
    await szafa.renameFolder(folder.path, to, { ...options, ...(all.length === 1 && { tree }) });
    tell(`${folder.path}/`, `${to}/`, { files: folder.count }, `, ${plural(folder.count, 'file')}`);
  }
  function tell(from: string, to: string, more: Record<string, unknown>, text = ''): void {
    out.done('moved', { from, to, ...more }, `moved ${oneLine(from)} to ${oneLine(to)}${text}`);
  }
}

export const command: Command = (invocation) => move(invocation, (tree) => journeys(tree, invocation));

export const rename: Command = async (invocation) => {
  const { args, out } = invocation;
  const [arg = '', name = ''] = args;
  if (name === '' || name.includes('/')) {
    throw new UsageError(`${shownName(name)} is not a name`, 'to move it elsewhere use szafa mv');
  }
  return move(invocation, (tree) => {
    const { targets } = named(tree, arg, out);
    const [target] = targets;
    if (targets.length !== 1 || !target || pathOf(target) === '') {
      throw new UsageError('rename takes one file or folder', 'to move several into a folder use szafa mv');
    }
    const to = joinPath(parentOf(pathOf(target)), name);
    if (tree.folder(to) && pathOf(target) !== to) {
      throw new CliError('exists', `there is a folder ${shownName(to)} already`, 'choose another name');
    }
    return [{ target, to }];
  });
};
