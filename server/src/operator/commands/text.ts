/** Formats facts for people: tables, and one fact per line. */
import { formatBytes } from '../../platform/bytes.ts';

/** A cell of a table; numbers and sizes are aligned to the right. */
type Cell = string | number | { bytes: number };
/** The columns of a table: the cell of each row, by title. */
export type Columns<T> = Record<string, (row: T) => Cell>;

const toText = (cell: Cell) => (typeof cell === 'object' ? formatBytes(cell.bytes) : String(cell));

/** Formats the lines of a table, with the titles first if there are any. */
export function alignTable(rows: Cell[][], titles: string[] = []): string[] {
  const all = [...(titles.length > 0 ? [titles] : []), ...rows];
  const widths = all[0]!.map((_, at) => Math.max(...all.map((row) => toText(row[at]!).length)));
  const isRight = rows[0]!.map((cell) => typeof cell !== 'string');
  return all.map((row) =>
    row
      .map((cell, at) => toText(cell)[isRight[at] ? 'padStart' : 'padEnd'](widths[at]!))
      .join('  ')
      .trimEnd(),
  );
}

/** Shortens a UTC time in ISO 8601 to `2026-01-31 12:00`. */
export const formatTime = (iso: string) => iso.slice(0, 16).replace('T', ' ');

/** Flattens an object into names and values; the names of nested values begin with that of their parent. */
function pairsOf(fact: object, prefix = ''): [name: string, value: string][] {
  return Object.entries(fact).flatMap(([key, value]): [string, string][] => {
    if (typeof value === 'object' && value !== null) return pairsOf(value, `${prefix}${key} `);
    const name = `${prefix}${key}`.replaceAll('_', ' ');
    if (value === null) return [[name.replace(/ bytes$/, ''), prefix === 'limits ' ? 'default' : 'none']];
    if (/_bytes$/.test(key)) return [[name.replace(/ bytes$/, ''), formatBytes(value)]];
    if (/_rate$/.test(key)) return [[name, `${formatBytes(value)} per second`]];
    if (/_(at|since)$/.test(key)) return [[name, `${formatTime(value)} UTC`]];
    return [[name, typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value)]];
  });
}

/** Formats one fact per line, with aligned values. */
export function detailLines(fact: object): string[] {
  return alignTable(pairsOf(fact).map(([name, value]) => [`${name}:`, value]));
}

/** Formats all facts for one line; omits false values, and nested null values. */
export function inWords(fact: object, prefix = ''): string[] {
  return Object.entries(fact).flatMap(([key, value]) => {
    if (value === false || (prefix !== '' && value === null)) return [];
    if (typeof value === 'object' && value !== null) return inWords(value, `${key} `);
    return [`${prefix}${key}: ${value ?? 'none'}`];
  });
}
