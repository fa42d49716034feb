import type { Entry, FileNode, Folder } from '@szafa/client/node';
import { looksLikeLink, looksLikeRequest, parseLink, parseRequest } from '@szafa/client/node';
import type { Invocation } from '../../command.ts';
import { CliError } from '../../errors.ts';
import type { Output } from './output.ts';
import { showQr } from './qr.ts';
import { formatBytes, formatTime, oneLine, padEnd, plural, width } from './text.ts';

const SIZE_COLUMNS = 11;
const TIME_COLUMNS = 16;
const FILE_ID_COLUMNS = 32;

/** Aligns the columns of all rows; the last one is not padded. */
export function alignRows(rows: readonly string[][]): string[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, width(cell));
  return rows.map((row) =>
    row.map((cell, at) => (at === row.length - 1 ? cell : padEnd(cell, widths[at]!))).join('  '),
  );
}

/** Formats a row of a long list. */
export function longRow(size: number, time: string, id: string, name: string): string {
  const columns = [
    formatBytes(size).padStart(SIZE_COLUMNS),
    time === '' ? ' '.repeat(TIME_COLUMNS) : formatTime(time),
    oneLine(id).padEnd(FILE_ID_COLUMNS),
  ];
  return `${columns.join('  ')}  ${name}`;
}

/** Returns a remark for a name that is not verified or in the wrong folder; '' for any other. */
export function remark(entry: Pick<Entry, 'problem' | 'verified' | 'misplaced'>): string {
  const { problem, verified, misplaced } = entry;
  if (problem) return `  (${oneLine(problem.message)})`;
  if (!verified) return '  (plain name, not verified)';
  return misplaced ? '  (the server has it in another folder)' : '';
}

/** Whether the folder's existence is proven: its name is sealed, or something inside is. Otherwise the server may have made it up. */
function isProven({ sealed, markers, files, folders }: Folder): boolean {
  return sealed || markers.length > 0 || files.some(({ verified }) => verified) || folders.some(isProven);
}

/** `shown`: the path to print. */
export function showFolder(out: Output, folder: Folder, long: boolean, shown: string): void {
  const { path, name, size, count } = folder;
  const verified = isProven(folder);
  const text = `${oneLine(shown)}/${remark({ verified })}`;
  const fields = { path, name, verified, size, files: count };
  out.answer('folder', fields, long ? longRow(size, '', plural(count, 'file'), text) : text);
}

export function showFile(out: Output, file: FileNode, long: boolean, shown: string): void {
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

/** Picks properties for JSON output: names become snake_case, absent ones null. */
export function jsonFields<T extends object>(item: T, ...names: (keyof T & string)[]) {
  const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(names.map((name) => [snake(name), item[name] ?? null]));
}

/** Lists shares or requests. If an ID was given, also shows the link and its QR code. */
export function showLinks<T extends { id: string; link?: string | undefined }>(
  { args, out }: Invocation,
  type: string,
  items: readonly T[],
  describe: (item: T) => { columns: string[]; fields: Record<string, unknown> },
): void {
  const described = items.map(describe);
  const rows = alignRows(described.map(({ columns }) => columns));
  for (const [at, { fields }] of described.entries()) {
    const { link } = items[at]!;
    const shown = args.length > 0 && link ? link : undefined;
    out.answer(type, fields, shown === undefined ? rows[at]! : `${rows[at]}\n${shown}`);
    if (shown !== undefined) showQr(out, shown);
  }
}

/** Number of characters of an ID in lists. */
export const ID_COLUMNS = 8;

const KINDS = {
  share: { none: 'you have no share', hint: 'szafa shares shows what you share' },
  received: { none: 'nothing is shared with you', hint: 'szafa shared shows what is' },
  request: { none: 'you have no request', hint: 'szafa requests shows them' },
  delivery: { none: 'there is no delivery', hint: 'szafa deliveries shows them' },
};

function idIn(text: string): string {
  if (looksLikeRequest(text)) return parseRequest(text).id;
  return looksLikeLink(text) ? parseLink(text).id : text;
}

/** Finds a share, request or delivery by its ID, the beginning of its ID, or its link. */
export function findById<Item extends { id: string }>(
  items: readonly Item[],
  text: string,
  kind: keyof typeof KINDS,
): Item {
  const wanted = idIn(text);
  const [first, second] = items.filter(({ id }) => id.startsWith(wanted));
  const { none, hint } = KINDS[kind];
  if (!first || wanted === '') throw new CliError('no-share', `${none} with the ID ${oneLine(wanted)}`, hint);
  if (second) throw new CliError('ambiguous', `several IDs begin with ${oneLine(wanted)}`, hint);
  return first;
}
