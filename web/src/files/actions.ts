/** The open dialog, uploads into a folder, and signing out. */
import { signal } from '@preact/signals';
import { displayName } from '@szafa/client';
import { account, leave } from '../accounts/session.ts';
import type { Item, LinkRow } from '../core/bridge/calls.ts';
import { call } from '../core/call.ts';
import { notifyError } from '../core/notices.ts';
import { joinPath } from '../core/tree.ts';
import type { Batch } from '../transfers/pick.ts';
import { active, upload } from '../transfers/transfers.ts';
import { resolveCollisions } from './collisions.ts';
import { changed, here, place, type Row, tree } from './file-list.ts';

type Dialog =
  | { kind: 'move' | 'copy'; rows: Row[] }
  | { kind: 'make-folder'; within: string }
  | { kind: 'rename'; row: Row }
  | { kind: 'versions'; item: Item }
  | { kind: 'remove'; items: Item[]; all: boolean }
  | { kind: 'preview'; item: Item }
  | { kind: 'share'; rows: Row[] }
  | { kind: 'end-link'; link: LinkRow }
  | { kind: 'leave'; uploads: string[]; downloads: string[] }
  | { kind: 'contacts'; username?: string }
  | { kind: 'account' }
  | { kind: 'settings' }
  | { kind: 'about' };

export const dialog = signal<Dialog | null>(null);

export function closeDialog(): void {
  dialog.value = null;
}

/** Signs out, but asks first if that would end uploads of any tab or downloads of this one. */
export async function askToSignOut(): Promise<void> {
  const uploads = (await call('storedUploads')).map(({ path }) => displayName(path));
  const downloads = active.value.filter(({ kind }) => kind === 'download').map(({ name }) => name);
  if (uploads.length + downloads.length > 0) dialog.value = { kind: 'leave', uploads, downloads };
  else await leave();
}

/** The folder that receives uploads: the current one, or the root folder in other places. */
export const targetFolder = () => (place.value.at === 'folder' ? here.value.path : '');

/**
 * Uploads files and empty folders into a folder, and asks about paths that are taken. Reading a large folder from disk
 * takes a while: if another account has signed in by then, nothing is uploaded.
 */
export async function uploadBatches(found: Batch[] | Promise<Batch[]>, into = targetFolder()): Promise<void> {
  const who = account.value;
  if (!who) return;
  try {
    const batches = await found;
    if (account.peek() !== who) return;
    const above = ({ folder }: Batch) => (folder === undefined ? into : joinPath(into, folder));
    const all = batches.flatMap((batch) =>
      batch.chosen.map((one) => ({ ...one, path: joinPath(above(batch), one.name) })),
    );
    const settled = await resolveCollisions(all, ({ path }) => path, true);
    if (!settled) return;
    await upload(
      who.username,
      settled.map(({ what, path }) => ({ ...what, path })),
    );
    const empty = batches.flatMap((batch) =>
      batch.empty.map((name) => (name ? joinPath(above(batch), name) : above(batch))),
    );
    const missing = empty.filter((path) => !tree.value.folder(path));
    for (const path of missing) {
      // After a sign-out, the folder would be created in another account.
      if (account.peek() !== who) return;
      await call('makeFolder', path);
    }
    if (missing.length > 0 && account.peek() === who) await changed();
  } catch (error) {
    if (account.peek() === who) notifyError(error);
  }
}
