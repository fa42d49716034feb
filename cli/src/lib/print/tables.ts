import type { Entry, FileNode, Folder } from '@szafa/client/node';
import type { Output } from './output.ts';
import { formatBytes, formatTime, oneLine, padEnd, plural, width } from './text.ts';

const SIZE_COLUMNS = 11;
const TIME_COLUMNS = 16;
const ID_COLUMNS = 32;

/** Pads all columns but the last to the same width. */
export function alignRows(rows: readonly string[][]): string[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, width(cell));
  return rows.map((row) =>
    row.map((cell, at) => (at === row.length - 1 ? cell : padEnd(cell, widths[at]!))).join('  '),
  );
}

/** A line of a long list. */
export function longRow(size: number, time: string, id: string, name: string): string {
  const columns = [
    formatBytes(size).padStart(SIZE_COLUMNS),
    time === '' ? ' '.repeat(TIME_COLUMNS) : formatTime(time),
    oneLine(id).padEnd(ID_COLUMNS),
  ];
  return `${columns.join('  ')}  ${name}`;
}

/** A remark behind a name that is not verified, or in the wrong folder. */
export function remark({
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

/** Whether more than the server's word says that the folder exists: its name is sealed, or something in it is. */
function isProven({ sealed, markers, files, folders }: Folder): boolean {
  return sealed || markers.length > 0 || files.some(({ verified }) => verified) || folders.some(isProven);
}

export function showFolder(out: Output, folder: Folder, { long, shown }: ShowOptions): void {
  const { path, name, size, count } = folder;
  const verified = isProven(folder);
  const text = `${oneLine(shown)}/${remark({ verified })}`;
  const fields = { path, name, verified, size, files: count };
  out.answer('folder', fields, long ? longRow(size, '', plural(count, 'file'), text) : text);
}

export function showFile(out: Output, file: FileNode, { long, shown }: ShowOptions): void {
  const { path, name, entry, versions, size, createdAt, verified, problem, misplaced } = file;
  const count = versions.length;
  const several = long && count > 1 ? `  (${plural(count, 'version')})` : '';
  const text = `${oneLine(shown)}${several}${remark(file)}`;
  const fields = {
    ...{ file_id: entry.fileId, path, name, verified, size, created_at: createdAt, versions: count },
    ...(misplaced && { misplaced }),
    ...(problem && { problem: problem.message }),
  };
  out.answer('file', fields, long ? longRow(size, createdAt, entry.fileId, text) : text);
}
