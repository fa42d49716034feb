/** The selection in the list: single rows, all rows, or ranges. */
import { signal } from '@preact/signals';
import { keyOf, type Row, rows, selected } from './file-list.ts';

/** Start of a range: the row that was last selected on its own. */
const anchor = signal<string | undefined>(undefined);

export function clearSelection(): void {
  selected.value = new Set();
}

export function selectOnly(row: Row): void {
  anchor.value = keyOf(row);
  selected.value = new Set([keyOf(row)]);
}

export function toggle(row: Row): void {
  const key = keyOf(row);
  anchor.value = key;
  const next = new Set(selected.value);
  if (!next.delete(key)) next.add(key);
  selected.value = next;
}

export function selectAll(): void {
  selected.value = new Set(rows.value.map(keyOf));
}

/** Selects all rows from the anchor to this one. */
export function selectTo(row: Row): void {
  const keys = rows.value.map(keyOf);
  const to = keys.indexOf(keyOf(row));
  const from = anchor.value === undefined ? -1 : keys.indexOf(anchor.value);
  if (from < 0) selectOnly(row);
  else selected.value = new Set(keys.slice(Math.min(from, to), Math.max(from, to) + 1));
}

/** Selects as a click does with these modifier keys held. */
export function select(row: Row, held: { shiftKey: boolean; ctrlKey: boolean; metaKey: boolean }): void {
  if (held.shiftKey) selectTo(row);
  else if (held.ctrlKey || held.metaKey) toggle(row);
  else selectOnly(row);
}

/** Returns the rows that an action on this row applies to: the selection if it contains the row, else the row alone. */
export function meant(row: Row): Row[] {
  if (!selected.value.has(keyOf(row))) return [row];
  return rows.value.filter((one) => selected.value.has(keyOf(one)));
}
