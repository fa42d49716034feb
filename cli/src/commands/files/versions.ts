import type { Entry, FileNode, Tree } from '@szafa/client/node';
import type { Command, Invocation } from '../../command.ts';
import { CliError, UsageError } from '../../errors.ts';
import { connect } from '../../lib/account/connection.ts';
import { markOf, row } from '../../lib/print/tables.ts';
import { oneLine } from '../../lib/print/text.ts';
import { Lookup } from '../../lib/select/lookup.ts';
import { shownName } from '../../lib/select/paths.ts';
import { named } from '../../lib/select/selection.ts';

function fileOf(tree: Tree, { out }: Invocation, text: string): FileNode {
  const { targets } = named(tree, text, out);
  const [target] = targets;
  if (targets.length === 1 && target && 'file' in target) return target.file;
  throw new UsageError(
    `${shownName(text)} is not one file`,
    'name a file; szafa ls -l shows how many versions each has',
  );
}

/** By the clock of the machine that uploaded it, which is sealed; the service's only where there is none. */
export function addedAt({ age, createdAt }: Entry): string {
  return age ? new Date(age.added).toISOString() : createdAt;
}

async function list(invocation: Invocation, text: string): Promise<void> {
  const { out, signal } = invocation;
  await using connection = await connect(invocation, { keys: 'useful' });
  const { szafa } = connection;
  const {
    path,
    versions,
    verified: isAged,
  } = fileOf(await new Lookup(szafa, signal).tree(), invocation, text);
  // Of a plain name the list does not tell which is the newest.
  const opened = isAged || !szafa.keys.unlocked ? [] : await szafa.versions(versions, { signal });
  const sorted = opened.length > 0 ? opened.map(({ entry }) => entry) : versions;
  for (const [at, entry] of sorted.entries()) {
    const { fileId, size, verified } = entry;
    const added = addedAt(entry);
    const mark = `${at === 0 ? '  (newest)' : ''}${markOf(entry)}`;
    out.answer(
      'version',
      { file_id: fileId, path, size, added_at: added, newest: at === 0, verified },
      row(size, added, fileId, `${oneLine(path)}${mark}`),
    );
  }
}

async function restore(invocation: Invocation, text: string, id: string): Promise<void> {
  const { out, signal } = invocation;
  await using connection = await connect(invocation, { keys: 'needed' });
  const { szafa } = connection;
  const tree = await new Lookup(szafa, signal).tree();
  const { path, versions, entry: newest } = fileOf(tree, invocation, text);
  const found = versions.filter(({ fileId }) => fileId.startsWith(id));
  const [entry] = found;
  if (!entry || found.length > 1) {
    const why = entry ? 'several versions have IDs that begin so' : 'it has no version of this ID';
    throw new CliError(
      'no-version',
      `${shownName(path)}: ${why}`,
      `szafa versions ${oneLine(path)} shows them`,
    );
  }
  if (entry === newest) {
    out.note('same', `that is the newest version of ${oneLine(path)} already`);
    return;
  }
  const fileId = await szafa.copyTo(entry, path, { tree, asVersion: true, signal });
  const said = `the version of ${addedAt(entry)} is the newest of ${oneLine(path)} now`;
  out.done('restored', { file_id: fileId, source_id: entry.fileId, path }, said);
}

export const command: Command = async (invocation) => {
  const [first = '', path, id] = invocation.args;
  if (path === undefined) return list(invocation, first);
  if (first === 'restore' && id !== undefined) return restore(invocation, path, id);
  const hint = 'szafa versions PATH shows the IDs';
  if (first === 'restore') throw new UsageError('versions restore needs PATH and ID', hint);
  throw new UsageError('versions takes one PATH', 'see szafa versions --help');
};
