/**
 * Addresses of places and previews. Paths are in the fragment, which browsers never send to the server.
 * `#/photos/2026/` is a folder, `#/photos/2026/a.jpg` a file previewed over its folder, `#trash` the trash, `#shared` the
 * shares of the account, `#received` the files shared with it.
 */
import { parentOf } from '../core/tree.ts';

export type Place = { at: 'folder'; path: string } | { at: Apart };

/** Places that are not folders. */
const APART = ['trash', 'shared', 'received'] as const;
type Apart = (typeof APART)[number];

export interface Address {
  place: Place;
  /** Path of the previewed file. */
  shown?: string;
}

export const TOP: Place = { at: 'folder', path: '' };

export const samePlace = (a: Place, b: Place) =>
  a.at === b.at && (a.at !== 'folder' || (b.at === 'folder' && a.path === b.path));

/** Encodes only characters that would end or change an address, so that letters of all languages stay readable. */
const written = (path: string) =>
  path.replace(/[%\s#?"<>`{}|\\^]|[^\P{C}]/gu, (char) => encodeURIComponent(char.toWellFormed()));

export function formatAddress({ place, shown }: Address): string {
  if (shown !== undefined) return `#/${written(shown)}`;
  if (place.at !== 'folder') return `#${place.at}`;
  return place.path === '' ? '#/' : `#/${written(place.path)}/`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // typed by hand, with a stray percent sign
  }
}

export function parseAddress(fragment: string): Address {
  const apart = APART.find((at) => fragment === `#${at}`);
  if (apart) return { place: { at: apart } };
  if (!fragment.startsWith('#/')) return { place: TOP };
  const path = decoded(fragment.slice(2));
  if (path === '' || path.endsWith('/')) return { place: { at: 'folder', path: path.slice(0, -1) } };
  return { place: { at: 'folder', path: parentOf(path) }, shown: path };
}

/** State of a history entry. */
interface HistoryState {
  /** Address of the place below the preview, which is the previous entry: closing the preview goes back to it. */
  over: string;
}

export const addressNow = (): Address => parseAddress(globalThis.location.hash);
export const isOver = (place: Place) =>
  (history.state as HistoryState | null)?.over === formatAddress({ place });

export function pushAddress(address: Address): void {
  const noted: HistoryState | null =
    address.shown === undefined ? null : { over: formatAddress({ place: address.place }) };
  history.pushState(noted, '', formatAddress(address));
}

/** Keeps the state if a file is shown: the next previewed file is over the same place as the one before. */
export function replaceAddress(address: Address): void {
  history.replaceState(address.shown === undefined ? null : history.state, '', formatAddress(address));
}

/** Removes the path from the address, so that the next account to sign in does not see it. */
export function forgetAddress(): void {
  history.replaceState(null, '', globalThis.location.pathname);
}
