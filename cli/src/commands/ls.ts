import type { DirEntry, Entry } from '@szafa/client/node';
import type { Command } from '../command.ts';
import { connect } from '../connection.ts';
import { explain } from '../explain.ts';
import { Lookup, ROOT } from '../lookup.ts';
import type { Output } from '../output.ts';
import { formatBytes, formatTime, oneLine, plural } from '../text.ts';

const SIZE_COLUMNS = 11;
const ID_COLUMNS = 32;

function row(size: number, time: string, id: string, name: string): string {
  const columns = [
    formatBytes(size).padStart(SIZE_COLUMNS),
    formatTime(time),
    oneLine(id).padEnd(ID_COLUMNS),
  ];
  return `${columns.join('  ')}  ${name}`;
}

function showDir(out: Output, dir: DirEntry): void {
  const { dirId, name, verified, fileCount, size, createdAt } = dir;
  const mark = verified ? '' : '  (plain name, not verified)';
  const files = plural(fileCount, 'file');
  out.answer(
    'directory',
    { dir_id: dirId, name, verified, file_count: fileCount, size, created_at: createdAt },
    row(size, createdAt, files, `${oneLine(name)}/${mark}`),
  );
}

function markOf({ problem, verified }: Entry): string {
  if (problem) return `  (${oneLine(problem.message)})`;
  return verified ? '' : '  (plain name, not verified)';
}

function showFile(out: Output, entry: Entry, dirName: string): void {
  const { fileId, name, verified, size, dirId, createdAt, problem } = entry;
  const fields = {
    file_id: fileId,
    name,
    verified,
    size,
    dir_id: dirId,
    dir_name: dirName,
    created_at: createdAt,
  };
  out.answer(
    'file',
    { ...fields, ...(problem && { problem: problem.message }) },
    row(size, createdAt, fileId, `${oneLine(name)}${markOf(entry)}`),
  );
}

export const command: Command = async (invocation) => {
  const { args, out, signal } = invocation;
  await using connection = await connect(invocation, { keys: 'useful' });
  const lookup = new Lookup(connection.szafa, signal);
  const [name = ROOT] = args;
  const inRoot = name === ROOT;
  const dirId = await lookup.dirId(inRoot ? name : name.replace(/\/$/, ''));
  if (inRoot) for (const dir of (await lookup.dirs()).toSorted(byName)) showDir(out, dir);
  const listed = lookup.list(dirId);
  const files = inRoot ? listed.catch(nothingOfTheRoot) : listed;
  // Versions of one name stay in the order of the list, newest first.
  for (const entry of (await files).toSorted(byName)) showFile(out, entry, inRoot ? '' : name);
};

/** A token for one directory sees nothing of the root but that. */
function nothingOfTheRoot(error: unknown): Entry[] {
  if (explain(error).code !== 'out-of-scope') throw error;
  return [];
}

function byName(a: { name: string }, b: { name: string }): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
