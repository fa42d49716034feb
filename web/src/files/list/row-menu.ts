/** Menus of rows, of folders in the tree, and of the empty space below the rows. */

import type { Item } from '../../core/bridge/calls.ts';
import type { MenuItem } from '../../core/controls/controls.tsx';
import { setTo } from '../../core/signals.ts';
import { text } from '../../core/text/index.ts';
import { offersLinks } from '../../sharing/links.ts';
import { downloadRows } from '../../transfers/download-rows.ts';
import { dialog, targetFolder } from '../actions.ts';
import { filesOf, goTo, isFolder, type Row } from '../file-list.ts';
import { restore, trash } from '../operations.ts';

/** Opens a folder or previews a file. Items in the trash cannot be opened. */
export function openRow(row: Row): void {
  if (isFolder(row)) goTo(row.path);
  else if (row.trashedAt === undefined) dialog.value = { kind: 'preview', item: row };
}

const isTrashed = (row: Row): row is Item => !isFolder(row) && row.trashedAt !== undefined;

export function removeRows(rows: Row[]): void {
  const items = rows.filter(isTrashed);
  if (items.length > 0) dialog.value = { kind: 'remove', items, all: false };
  else void trash(rows);
}

export function askShare(rows: Row[]): void {
  dialog.value = { kind: 'share', rows };
}

export function askRename(row: Row): void {
  if (!isTrashed(row)) dialog.value = { kind: 'rename', row };
}

function forTrashed(items: Item[]): MenuItem[] {
  return [
    { icon: 'retry', label: text.restore.do, act: () => void restore(items) },
    { icon: 'trash', label: text.remove.do, act: () => removeRows(items), danger: true },
  ];
}

export function menuFor(rows: Row[]): MenuItem[] {
  const { actions } = text;
  const trashed = rows.filter(isTrashed);
  if (trashed.length > 0) return forTrashed(trashed);
  const [row] = rows;
  const alone = rows.length === 1 ? row : undefined;
  const items: MenuItem[] = [];
  if (alone && isFolder(alone)) {
    items.push({ icon: 'folder', label: text.tree.open, act: () => openRow(alone) });
  }
  if (alone && !isFolder(alone)) {
    items.push({ icon: 'eye', label: actions.preview, act: () => openRow(alone) });
  }
  items.push({ icon: 'download', label: actions.download, act: () => void downloadRows(rows) });
  if (offersLinks.value && filesOf(rows).length > 0) {
    items.push({ icon: 'link', label: text.share.do, act: () => askShare(rows) });
  }
  if (alone) items.push({ icon: 'rename', label: text.rename.do, act: () => askRename(alone) });
  const ask = (kind: 'move' | 'copy') => setTo(dialog, { kind, rows });
  items.push(
    { icon: 'move', label: actions.move, act: ask('move') },
    { icon: 'copy', label: actions.copy, act: ask('copy') },
  );
  if (alone && !isFolder(alone)) {
    const show = setTo(dialog, { kind: 'versions', item: alone });
    items.push({ icon: 'versions', label: text.versions.title, act: show });
  }
  items.push({ icon: 'trash', label: actions.remove, act: () => removeRows(rows), danger: true });
  return items;
}

export function askNewFolder(within = targetFolder()): void {
  dialog.value = { kind: 'make-folder', within };
}

/** The menu of the empty space below the rows. */
export function menuForPlace(): MenuItem[] {
  const press = (id: string) => () => document.getElementById(id)?.click();
  return [
    { icon: 'folderAdd', label: text.places.make, act: () => askNewFolder() },
    { icon: 'upload', label: text.actions.upload, act: press('upload') },
    { icon: 'folderUp', label: text.actions.uploadFolder, act: press('upload-folder') },
  ];
}
