/** What a person does with files and directories. */
import { signal } from '@preact/signals';
import { displayName } from '@szafa/client';
import type { Item } from '../bridge.ts';
import { explain, text } from '../text.ts';
import { call, faultOf } from './core.ts';
import { tell, tellFault, tellOngoing } from './notices.ts';
import type { Batch } from './pick.ts';
import { account, leave } from './session.ts';
import { changed, selected, targetDir } from './shelf.ts';
import { active, type Chosen, upload } from './transfers.ts';

type Dialog =
  | { kind: 'remove' | 'move' | 'copy'; items: Item[] }
  | { kind: 'make-dir' }
  | { kind: 'remove-dir'; dirId: number; name: string; count: number }
  | { kind: 'preview'; item: Item }
  | { kind: 'leave'; uploads: string[]; downloads: string[] }
  | { kind: 'account' }
  | { kind: 'settings' }
  | { kind: 'about' };

export const dialog = signal<Dialog | null>(null);

export function closeDialog(): void {
  dialog.value = null;
}

/** Files that are moved, copied or deleted at the same time. */
const AT_ONCE = 4;

/** The same with each of the files. Those that failed stay chosen, to be tried again. */
async function each(
  items: Item[],
  words: typeof text.remove | typeof text.move | typeof text.copy,
  work: (fileId: string) => Promise<unknown>,
): Promise<void> {
  const who = account.peek();
  const all = items.length;
  const left = new Set(items.map(({ fileId }) => fileId));
  const waiting = [...left].values();
  selected.value = selected.value.difference(left);
  const notice = all > AT_ONCE ? tellOngoing(words.doing(0, all)) : undefined;
  let first: unknown;

  async function lane(): Promise<void> {
    for (const fileId of waiting) {
      try {
        await work(fileId);
        left.delete(fileId);
        notice?.change(words.doing(all - left.size, all));
      } catch (error) {
        first ??= error;
        // The SDK has tried for a while; the others would only wait as long.
        if (faultOf(error).code === 'network') return;
      }
      if (account.peek() !== who) return;
    }
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, all) }, lane));

  notice?.end();
  if (account.peek() !== who) return;
  if (left.size === 0) tell(words.done(all));
  else if (all === 1) tellFault(first);
  else {
    selected.value = selected.value.union(left);
    tell(words.failed(left.size, all, explain(faultOf(first))), true);
  }
  await changed();
}

export const removeFiles = (items: Item[]) => each(items, text.remove, (fileId) => call('remove', fileId));

export const moveFiles = (items: Item[], dirId: number | null) =>
  each(items, text.move, (fileId) => call('move', fileId, dirId));

export const copyFiles = (items: Item[], dirId: number | null) =>
  each(items, text.copy, (fileId) => call('copy', fileId, dirId));

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

/** Signs out, after a question where something would be lost: uploads of any tab, downloads of this one. */
export async function askToLeave(): Promise<void> {
  const uploads = (await call('remembered')).map(({ name }) => displayName(name));
  const downloads = active.value.filter(({ kind }) => kind === 'download').map(({ name }) => name);
  if (uploads.length + downloads.length > 0) dialog.value = { kind: 'leave', uploads, downloads };
  else await leave();
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
