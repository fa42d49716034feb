/** State of the page behind a request link. */
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
/** Files are being dragged over the page. */
export const filesOver = signal(false);
/** Sizes of the files sent from this tab, by upload id. Kept when the rows are dismissed. */
const sentSizes = signal<ReadonlyMap<string, number>>(new Map());
export const sent = computed(() => ({
  files: sentSizes.value.size,
  bytes: [...sentSizes.value.values()].reduce((sum, size) => sum + size, 0),
}));

/** Returns the link without a query, which mail programs and trackers may have added. */
function link(): string {
  const { origin, pathname, hash } = globalThis.location;
  return `${origin}${pathname}${hash}`;
}

/** Used in place of a username for stored uploads, because visitors have none. */
const place = () => globalThis.location.pathname.replace(/\/$/, '');

export async function begin(): Promise<void> {
  shown.value = { at: 'opening' };
  if (await look()) await restoreUploads(place()).catch(notifyError);
}

/** Reads the remaining limits of the request. Returns false if that failed. */
async function look(): Promise<boolean> {
  try {
    shown.value = { at: 'open', asked: await call('visitRequest', link()) };
    return true;
  } catch (error) {
    const fault = faultOf(error);
    // While the server is away, keep showing the request.
    if (shown.value.at !== 'open' || fault.code !== 'network') shown.value = { at: 'fault', fault };
    return false;
  }
}

export async function send(batches: Batch[]): Promise<void> {
  if (shown.value.at !== 'open') return;
  const all = batches.flatMap(({ folder = '', chosen }) =>
    chosen.map((one) => ({ ...one, path: joinPath(folder, one.name) })),
  );
  // After a reload, the user chooses the same files again.
  const joined = resumeWithFiles(all);
  const added = all.filter(({ file }) => !joined.has(file));
  if (added.length > 0) await upload(place(), added).catch(notifyError);
}

function isFiles(event: DragEvent): boolean {
  return shown.value.at === 'open' && event.dataTransfer?.types.includes('Files') === true;
}

/** Accepts drops anywhere on the page. */
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
      // The request has ended or is full: show that for the whole page.
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
  // A new link that differs only after the `#` does not load the page again by itself.
  globalThis.addEventListener('hashchange', () => globalThis.location.reload());
}
