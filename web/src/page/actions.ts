/** What a person does with files and directories. */
import { signal } from '@preact/signals';
import type { Item } from '../bridge.ts';
import { text } from '../text.ts';
import { call } from './core.ts';
import { tell, tellFault } from './notices.ts';
import type { Batch } from './pick.ts';
import { account } from './session.ts';
import { changed, selected, targetDir } from './shelf.ts';
import { type Chosen, upload } from './transfers.ts';

type Dialog =
  | { kind: 'remove' | 'move' | 'copy'; items: Item[] }
  | { kind: 'make-dir' }
  | { kind: 'remove-dir'; dirId: number; name: string; count: number }
  | { kind: 'preview'; item: Item }
  | { kind: 'about' };

export const dialog = signal<Dialog | null>(null);

export function closeDialog(): void {
  dialog.value = null;
}

/** Several calls in a row; the first failure is told, and the list shows what was done until then. */
async function each(items: Item[], work: (item: Item) => Promise<unknown>, done: string): Promise<void> {
  try {
    for (const item of items) await work(item);
    tell(done);
  } catch (error) {
    tellFault(error);
  }
  selected.value = new Set();
  await changed();
}

export const removeFiles = (items: Item[]) =>
  each(items, ({ fileId }) => call('remove', fileId), text.remove.done(items.length));

export const moveFiles = (items: Item[], dirId: number | null) =>
  each(items, ({ fileId }) => call('move', fileId, dirId), text.move.done(items.length));

export const copyFiles = (items: Item[], dirId: number | null) =>
  each(items, ({ fileId }) => call('copy', fileId, dirId), text.copy.done(items.length));

export async function makeDir(name: string): Promise<number> {
  const dirId = await call('makeDir', name);
  await changed();
  return dirId;
}

export async function removeDir(dirId: number): Promise<void> {
  try {
    await call('removeDir', dirId);
  } catch (error) {
    tellFault(error);
  }
  await changed();
}

/** A folder becomes a directory where its name fits one; otherwise the folder stays part of the names. */
async function placeOf({ folder, chosen }: Batch): Promise<{ dirId: number | null; chosen: Chosen[] }> {
  const dirId = targetDir();
  if (folder === undefined) return { dirId, chosen };
  const below = chosen.map((one) => ({ ...one, name: `${folder}/${one.name}` }));
  if (dirId !== null) return { dirId, chosen: below };
  try {
    return { dirId: await call('ensureDir', folder), chosen };
  } catch {
    return { dirId, chosen: below };
  }
}

export async function uploadBatches(batches: Batch[]): Promise<void> {
  const who = account.value;
  if (!who) return;
  try {
    for (const batch of batches) {
      const { dirId, chosen } = await placeOf(batch);
      if (chosen.length > 0) await upload(who.username, chosen, dirId);
    }
  } catch (error) {
    tellFault(error);
  }
}
