/** State of the file list: files and folders, place, search, sort order, selection. */
import { batch, computed, effect, signal } from '@preact/signals';
import { fold } from '@szafa/client';
import type { Quota } from '@szafa/protocol';
import type { Dir, FolderInfo, Item, Move } from '../core/bridge/calls.ts';
import type { Fault } from '../core/bridge/messages.ts';
import { call, faultOf } from '../core/call.ts';
import { notifyError } from '../core/notices.ts';
import { foldedMatcher, matcher } from '../core/search.ts';
import { chosenSort } from '../core/settings.ts';
import { toTabs } from '../core/tabs.ts';
import { language } from '../core/text/index.ts';
import { type Folder, filesBelow, foldersBelow, isWithin, nearest, treeOf } from '../core/tree.ts';
import { type Place, samePlace, TOP } from './address.ts';

/** Longest wait before the search is prepared, if the browser has no idle callback or is never idle. */
const PREPARE_MS = 500;

export type Row = Folder | Item;

export const items = signal<Item[]>([]);
const folders = signal<FolderInfo[]>([]);
/** Null unless the trash is open and was read. */
export const trashed = signal<Item[] | null>(null);
export const dirs = signal<Dir[]>([]);
export const quota = signal<Quota | null>(null);
export const listing = signal<'loading' | 'ready' | 'failed'>('loading');
/** Revision of the account that the list shows. */
export const listedRev = signal<string | undefined>(undefined);
export const listFault = signal<Fault | null>(null);

export const place = signal<Place>(TOP);
export const filter = signal('');
export type SortKey = 'name' | 'size' | 'date';
export const sort = computed(() => {
  const [key, way] = chosenSort.value.split(' ') as [SortKey, 'up' | 'down'];
  return { key, down: way === 'down' };
});
/** Ids of files, and paths of folders with a trailing slash. */
export const selected = signal<ReadonlySet<string>>(new Set());

export const tree = computed(() => treeOf(items.value, folders.value));

export const isFolder = (row: Row): row is Folder => 'folders' in row;
export const isFile = (row: Row): row is Item => !isFolder(row);
export const keyOf = (row: Row) => (isFolder(row) ? `${row.path}/` : row.fileId);

/** The current folder, or its nearest existing parent. The root folder in other places. */
export const here = computed((): Folder => {
  const at = place.value;
  return at.at === 'folder' ? nearest(tree.value, at.path) : tree.value.top;
});

/** The time in the date column: when the file was added or, in the trash, deleted. */
export const timeOf = (row: Row) => (isFolder(row) ? row.createdAt : (row.trashedAt ?? row.createdAt));

const collator = computed(() => new Intl.Collator(language(), { numeric: true, sensitivity: 'base' }));
export const byName = (a: { name: string }, b: { name: string }) => collator.value.compare(a.name, b.name);
const ORDER: Record<SortKey, (a: Row, b: Row) => number> = {
  name: byName,
  size: (a, b) => a.size - b.size,
  date: (a, b) => timeOf(a) - timeOf(b),
};

/** Sorts rows. Ties, such as files of one batch with the same time, are always in ascending order of name. */
function ordered<T extends Row>(rows: readonly T[]): T[] {
  const { key, down } = sort.value;
  const order = ORDER[key];
  return rows.toSorted((a, b) => (down ? order(b, a) : order(a, b)) || byName(a, b));
}

/** All folders and files with their folded names, sorted and folded once instead of at each keystroke of a search. */
const everything = computed(() => {
  // The server lists files newest first, which is the default order, so sorting is usually cheap.
  const all: Row[] = [...ordered([...foldersBelow(tree.value.top)]), ...ordered(items.value)];
  return { all, folded: all.map(({ name }) => fold(name)) };
});

/** The rows of the current folder, cached during a search. */
const inHere = computed((): Row[] => [...ordered(here.value.folders), ...ordered(here.value.files)]);

let reading: Promise<boolean> | undefined;
let next: Promise<boolean> | undefined;
/** Incremented at each sign-out, so that a list read for the previous account is dropped. */
let visit = 0;

/** Folding ten thousand names is too slow for a keystroke, so it is done in advance, while the browser is idle. */
function prepareSearch(): void {
  const asked = visit;
  const prepare = () => {
    if (asked === visit) void everything.value;
  };
  if ('requestIdleCallback' in globalThis) requestIdleCallback(prepare, { timeout: PREPARE_MS });
  else setTimeout(prepare, PREPARE_MS);
}

// A new sort order needs a new preparation.
effect(() => {
  if (sort.value) prepareSearch();
});

export const rows = computed((): Row[] => {
  const isWanted = filter.value.trim() !== '';
  if (place.value.at === 'shared' || place.value.at === 'received') return [];
  if (place.value.at === 'trash') {
    const fits = matcher(filter.value);
    return ordered((trashed.value ?? []).filter(({ name }) => !isWanted || fits(name)));
  }
  if (!isWanted) return inHere.value;
  const matches = foldedMatcher(filter.value);
  const { all, folded } = everything.value;
  return all.filter((_, at) => matches(folded[at]!));
});

/** The files of the list, in the order shown. */
export const visible = computed(() => rows.value.filter(isFile));

export const chosenRows = computed(() =>
  selected.value.size === 0 ? [] : rows.value.filter((row) => selected.value.has(keyOf(row))),
);

/** Returns the files among the rows, and all files below the folders among them. */
export function filesOf(all: readonly Row[]): Item[] {
  return all.flatMap((row) => (isFolder(row) ? [...filesBelow(row)] : [row]));
}

export const dirNames = computed(() => new Map(dirs.value.map((dir) => [dir.dirId, dir.name])));

/** Reads the list. All calls during a read share one further read. Returns false if it failed. */
export function refresh(): Promise<boolean> {
  if (reading) {
    next ??= reading.then(() => {
      next = undefined;
      return refresh();
    });
    return next;
  }
  reading = read().finally(() => {
    reading = undefined;
  });
  return reading;
}

/** Reads the list again after a change, in all tabs. `moved` lists moved folders, so that the page can follow them. */
export async function changed(moved: readonly Move[] = []): Promise<boolean> {
  followed.push(...moved);
  const isListed = await refresh();
  toTabs('changed');
  return isListed;
}

const followed: Move[] = [];

/** Stays in the current folder if it, or a folder above it, was moved. */
function followMovedFolder(): void {
  for (const { from, to } of followed.splice(0)) {
    const at = place.value;
    if (at.at !== 'folder' || from === '' || !isWithin(at.path, from)) continue;
    const path = to + at.path.slice(from.length);
    if (tree.value.folder(path)) place.value = { at: 'folder', path };
  }
}

async function read(): Promise<boolean> {
  const asked = visit;
  if (listing.value === 'failed') listing.value = 'loading';
  try {
    const isTrash = place.value.at === 'trash';
    const [found, inTrash] = await Promise.all([call('list'), isTrash ? call('listTrash') : null]);
    if (asked !== visit) return false;
    batch(() => {
      trashed.value = inTrash;
      items.value = found.items;
      folders.value = found.folders;
      dirs.value = found.dirs;
      quota.value = found.quota;
      listedRev.value = found.rev;
      listing.value = 'ready';
      followMovedFolder();
      deselectMissing();
    });
    prepareSearch();
    return true;
  } catch (error) {
    if (asked !== visit) return false;
    if (listing.value === 'ready') notifyError(error);
    else {
      listFault.value = faultOf(error);
      listing.value = 'failed';
    }
    return false;
  }
}

/** Deselects rows that no longer exist. */
function deselectMissing(): void {
  if (selected.value.size === 0) return;
  const ids = new Set([...items.value, ...(trashed.value ?? [])].map(({ fileId }) => fileId));
  const left = [...selected.value].filter((key) =>
    key.endsWith('/') ? tree.value.folder(key.slice(0, -1)) : ids.has(key),
  );
  if (left.length < selected.value.size) selected.value = new Set(left);
}

export function go(to: Place): void {
  if (samePlace(place.value, to) && filter.value === '') return;
  batch(() => {
    place.value = to;
    filter.value = '';
    selected.value = new Set();
  });
  if (to.at === 'trash') void refresh();
}

export const goTo = (path: string) => go({ at: 'folder', path });

export function sortBy(key: SortKey): void {
  const { key: before, down } = sort.value;
  const next = before === key ? !down : key !== 'name';
  chosenSort.value = `${key} ${next ? 'down' : 'up'}`;
}

export function clearFileList(): void {
  visit++;
  batch(() => {
    items.value = [];
    folders.value = [];
    trashed.value = null;
    dirs.value = [];
    quota.value = null;
    listedRev.value = undefined;
    listing.value = 'loading';
    listFault.value = null;
    selected.value = new Set();
    filter.value = '';
    place.value = TOP;
  });
}
