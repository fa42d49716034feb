import type { Entry, FileNode, Folder } from '@szafa/client/node';
import type { Output } from './output.ts';
import { formatBytes, formatTime, oneLine, plural } from './text.ts';

const SIZE_COLUMNS = 11;
const TIME_COLUMNS = 16;
const ID_COLUMNS = 32;

/** A line of a long list. */
export function row(size: number, time: string, id: string, name: string): string {
  const columns = [
    formatBytes(size).padStart(SIZE_COLUMNS),
    time === '' ? ' '.repeat(TIME_COLUMNS) : formatTime(time),
    oneLine(id).padEnd(ID_COLUMNS),
  ];
  return `${columns.join('  ')}  ${name}`;
}

export function markOf({
  problem,
  verified,
  misplaced,
}: Pick<Entry, 'problem' | 'verified' | 'misplaced'>): string {
  if (problem) return `  (${oneLine(problem.message)})`;
  if (!verified) return '  (plain name, not verified)';
  return misplaced ? '  (the server has it in another folder)' : '';
}

export interface ShowOptions {
  long: boolean;
  /** How the path is shown. */
  shown: string;
}

/** It is there by more than the service's word: something of this account's own is in it, or has its name. */
function isProven({ sealed, markers, files, folders }: Folder): boolean {
  return sealed || markers.length > 0 || files.some(({ verified }) => verified) || folders.some(isProven);
}

export function showFolder(out: Output, folder: Folder, { long, shown }: ShowOptions): void {
  const { path, name, size, count } = folder;
  const verified = isProven(folder);
  const text = `${oneLine(shown)}/${markOf({ verified })}`;
  out.answer(
    'folder',
    { path, name, verified, size, files: count },
    long ? row(size, '', plural(count, 'file'), text) : text,
  );
}

export function showFile(out: Output, file: FileNode, { long, shown }: ShowOptions): void {
  const { path, name, entry, versions, size, createdAt, verified, problem, misplaced } = file;
  const several = versions.length > 1 ? `  (${plural(versions.length, 'version')})` : '';
  const text = `${oneLine(shown)}${long ? several : ''}${markOf(file)}`;
  out.answer(
    'file',
    {
      ...{
        file_id: entry.fileId,
        path,
        name,
        verified,
        size,
        created_at: createdAt,
        versions: versions.length,
      },
      ...(misplaced && { misplaced }),
      ...(problem && { problem: problem.message }),
    },
    long ? row(size, createdAt, entry.fileId, text) : text,
  );
}
