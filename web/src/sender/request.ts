/** State of the page that a file request leads to. */
import { computed, effect, signal } from '@preact/signals';
import type { RequestTerms } from '../core/bridge/calls.ts';
import type { Fault } from '../core/bridge/messages.ts';
import { call, faultOf } from '../core/call.ts';
import { onReconnect } from '../core/connection.ts';
import { notifyError } from '../core/notices.ts';
import { joinPath } from '../core/tree.ts';
import { type Batch, fromDrop } from '../transfers/pick.ts';
import {
  onUploaded,
  restoreUploads,
  resumeAfterReconnect,
  resumeWithFiles,
  transfers,
  upload,
} from '../transfers/transfers.ts';

type PageState = { at: 'opening' } | { at: 'open'; asked: RequestTerms } | { at: 'fault'; fault: Fault };

export const shown = signal<PageState>({ at: 'opening' });
/** Files are over the page. */
export const filesOver = signal(false);
/** Bytes of each file that was sent from this tab, whether its row is still there or not. */
const sentSizes = signal<ReadonlyMap<string, number>>(new Map());
export const sent = computed(() => ({
  files: sentSizes.value.size,
  bytes: [...sentSizes.value.values()].reduce((sum, size) => sum + size, 0),
}));

/** Without what others may have put behind a `?` on the way. */
function link(): string {
  const { origin, pathname, hash } = globalThis.location;
  return `${origin}${pathname}${hash}`;
}

/** Stands for the username of remembered uploads: visitors have none. */
const place = () => globalThis.location.pathname.replace(/\/$/, '');

export async function begin(): Promise<void> {
  shown.value = { at: 'opening' };
  if (await look()) await restoreUploads(place()).catch(notifyError);
}

/** How much it still takes; whether it was told. */
async function look(): Promise<boolean> {
  try {
    shown.value = { at: 'open', asked: await call('visitRequest', link()) };
    return true;
  } catch (error) {
    const fault = faultOf(error);
    // What is shown stays valid while the server is away.
    if (shown.value.at !== 'open' || fault.code !== 'network') shown.value = { at: 'fault', fault };
    return false;
  }
}

export async function send(batches: Batch[]): Promise<void> {
  if (shown.value.at !== 'open') return;
  const all = batches.flatMap(({ folder = '', chosen }) =>
    chosen.map((one) => ({ ...one, path: joinPath(folder, one.name) })),
  );
  // After a reload, the same files are chosen again.
  const joined = resumeWithFiles(all);
  const added = all.filter(({ file }) => !joined.has(file));
  if (added.length > 0) await upload(place(), added).catch(notifyError);
}

function isFiles(event: DragEvent): boolean {
  return shown.value.at === 'open' && event.dataTransfer?.types.includes('Files') === true;
}

/** Anywhere on the page. */
export function listenForDrops(): void {
  const over = (event: DragEvent) => {
    if (!isFiles(event)) return;
    event.preventDefault();
    filesOver.value = true;
  };
  document.addEventListener('dragenter', over);
  document.addEventListener('dragover', over);
  document.addEventListener('dragleave', ({ relatedTarget }) => {
    if (relatedTarget === null) filesOver.value = false;
  });
  document.addEventListener('drop', (event) => {
    filesOver.value = false;
    if (!isFiles(event)) return;
    event.preventDefault();
    fromDrop(event.dataTransfer!).then(send, notifyError);
  });
}

export function watchUploads(): void {
  const refused = new Set<string>();
  effect(() => {
    for (const { id, size, status, turn = 0 } of transfers.value) {
      const { state, fault } = status.value;
      if (state === 'done' && !sentSizes.peek().has(id))
        sentSizes.value = new Map(sentSizes.peek()).set(id, size);
      // The request is over or full, which concerns the whole page.
      const attempt = `${id} ${turn}`;
      if (state !== 'failed' || fault?.code !== 'link-over' || refused.has(attempt)) continue;
      refused.add(attempt);
      void look();
    }
  });
  onUploaded(() => void look());
  onReconnect(() => {
    const now = shown.value;
    if (now.at === 'fault' && now.fault.code === 'network') void begin();
    else resumeAfterReconnect();
  });
  // Another link in the same tab may only differ after the `#`, which loads nothing.
  globalThis.addEventListener('hashchange', () => globalThis.location.reload());
}
