/**
 * Addresses of places and previews. They are in the fragment, which a browser sends to nobody: `#/photos/2026/` is a folder,
 * `#/photos/2026/a.jpg` a file shown over its folder, `#trash` the trash, `#shared` what the account shares, `#received` what others share with it.
 */
import { parentOf } from '../core/tree.ts';

export type Place = { at: 'folder'; path: string } | { at: Apart };

/** Places that are no folders. */
const APART = ['trash', 'shared', 'received'] as const;
type Apart = (typeof APART)[number];

export interface Address {
  place: Place;
  /** The path of the file that is shown. */
  shown?: string;
}

export const TOP: Place = { at: 'folder', path: '' };

export const samePlace = (a: Place, b: Place) =>
  a.at === b.at && (a.at !== 'folder' || (b.at === 'folder' && a.path === b.path));

/** Letters of all languages stay readable; only what would end or change an address is written otherwise. */
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
    return text; // typed by hand
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
  /** The entry before this one is that address, over which a file is shown: closing the file is going back. */
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

/** Of two files that are shown one after the other, the second lies over the same place. */
export function replaceAddress(address: Address): void {
  history.replaceState(address.shown === undefined ? null : history.state, '', formatAddress(address));
}

/** The next one who comes here begins at the top. */
export function forgetAddress(): void {
  history.replaceState(null, '', globalThis.location.pathname);
}
