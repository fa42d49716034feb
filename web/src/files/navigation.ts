/** Keeps the browser's address and history in sync with the page, in both directions. */
import { batch, effect } from '@preact/signals';
import { phase } from '../accounts/session.ts';
import { notify } from '../core/notices.ts';
import { text } from '../core/text/index.ts';
import { dialog } from './actions.ts';
import {
  type Address,
  addressNow,
  formatAddress,
  isOver,
  pushAddress,
  replaceAddress,
  samePlace,
} from './address.ts';
import { go, here, listing, place, tree } from './file-list.ts';

/** Path of the file that the address names, until the list is loaded and the file can be found in it. */
let wanted: string | undefined;

/** `history.back()` was called for a closed preview; its popstate is still to come and must not close newer dialogs. */
let goingBack = false;

function shownPath(): string | undefined {
  const now = dialog.value;
  return now?.kind === 'preview' ? now.item.path : undefined;
}

/** Shows the place and the file of the current address. */
function follow(): void {
  const { place: to, shown } = addressNow();
  if (shown !== undefined && shown === shownPath()) return;
  batch(() => {
    dialog.value = null;
    // `go` would clear the search, which must survive closing a preview.
    if (!samePlace(to, place.value)) go(to);
    wanted = shown;
    if (listing.value === 'ready') showWanted();
  });
}

function showWanted(): void {
  if (wanted === undefined) return;
  const item = tree.value.file(wanted);
  wanted = undefined;
  if (item) dialog.value = { kind: 'preview', item };
  else notify(text.tree.gone, true);
}

/** Updates the address to match the page. */
function mirror(): void {
  const shown = shownPath();
  const now: Address = { place: place.value, ...(shown !== undefined && { shown }) };
  // Only return after all signals were read, so that the effect stays subscribed to them.
  if (goingBack) return;
  const before = addressNow();
  if (formatAddress(now) === (globalThis.location.hash || '#/')) return;
  if (before.shown === undefined) pushAddress(now);
  else if (shown !== undefined) replaceAddress(now);
  else if (isOver(now.place)) {
    goingBack = true;
    history.back();
  } else if (samePlace(before.place, now.place)) replaceAddress(now);
  else pushAddress(now);
}

/** If the folder does not exist, goes to its nearest existing parent. */
function leaveMissingFolder(): void {
  const at = place.value;
  if (at.at !== 'folder' || at.path === here.value.path) return;
  const path = here.value.path;
  replaceAddress({ place: { at: 'folder', path } });
  place.value = { at: 'folder', path };
}

export function startNavigation(): void {
  let inside = false;
  globalThis.addEventListener('popstate', () => {
    const isOwn = goingBack;
    goingBack = false;
    if (!inside) return;
    if (isOwn) mirror();
    else follow();
  });
  effect(() => {
    const isIn = phase.value === 'in';
    if (isIn && !inside) follow();
    inside = isIn;
    if (!isIn || listing.value !== 'ready') return;
    if (wanted !== undefined) showWanted();
    leaveMissingFolder();
    mirror();
  });
}
