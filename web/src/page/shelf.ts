/** What the list shows: the files and directories of the account, and how they are looked at. */
import { batch, computed, signal } from '@preact/signals';
import type { Quota } from '@szafa/protocol';
import type { Dir, Fault, Item } from '../bridge.ts';
import { language } from '../text.ts';
import { call, faultOf } from './core.ts';
import { tellFault } from './notices.ts';
import { matcher } from './search.ts';
import { toTabs } from './tabs.ts';

/** All files, those in no directory, or those of one directory. */
export type Place = 'all' | 'root' | number;
export type SortKey = 'name' | 'size' | 'date';

export const items = signal<Item[]>([]);
export const dirs = signal<Dir[]>([]);
export const quota = signal<Quota | null>(null);
export const listing = signal<'loading' | 'ready' | 'failed'>('loading');
export const listFault = signal<Fault | null>(null);

export const place = signal<Place>('all');
export const filter = signal('');
export const sort = signal<{ key: SortKey; down: boolean }>({ key: 'date', down: true });
export const selected = signal<ReadonlySet<string>>(new Set());

const collator = computed(() => new Intl.Collator(language(), { numeric: true, sensitivity: 'base' }));
const ORDER: Record<SortKey, (a: Item, b: Item) => number> = {
  name: (a, b) => collator.value.compare(a.name, b.name),
  size: (a, b) => a.size - b.size,
  date: (a, b) => a.createdAt - b.createdAt,
};

const sorted = computed(() => {
  const { key, down } = sort.value;
  const order = ORDER[key];
  const ordered = items.value.toSorted(order);
  return down ? ordered.reverse() : ordered;
});

export const here = computed(() => {
  const at = place.value;
  if (at === 'all') return sorted.value;
  return sorted.value.filter((item) => (at === 'root' ? !item.dirId : item.dirId === at));
});

export const visible = computed(() => {
  if (filter.value.trim() === '') return here.value;
  const fits = matcher(filter.value);
  return here.value.filter(({ name }) => fits(name));
});

export const chosen = computed(() => visible.value.filter((item) => selected.value.has(item.fileId)));

export const dirNames = computed(() => new Map(dirs.value.map((dir) => [dir.dirId, dir.name])));

/** The directory that an upload goes into from here. */
export function targetDir(): number | null {
  return typeof place.value === 'number' ? place.value : null;
}

let reading: Promise<void> | undefined;
let next: Promise<void> | undefined;
/** Counts the accounts: what was read for one that has left is nobody's. */
let visit = 0;

/** Reads the list; further wishes during one reading are one more reading, not many. */
export function refresh(): Promise<void> {
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

/** After a change: this tab reads the list again, and so do the others. */
export async function changed(): Promise<void> {
  await refresh();
  toTabs('changed');
}

async function read(): Promise<void> {
  const asked = visit;
  if (listing.value === 'failed') listing.value = 'loading';
  try {
    const found = await call('list');
    if (asked !== visit) return;
    batch(() => {
      items.value = found.items;
      dirs.value = found.dirs;
      quota.value = found.quota;
      listing.value = 'ready';
      const present = new Set(found.items.map((item) => item.fileId));
      if ([...selected.value].some((id) => !present.has(id)))
        selected.value = selected.value.intersection(present);
      if (typeof place.value === 'number' && !dirNames.value.has(place.value)) place.value = 'all';
    });
  } catch (error) {
    if (asked !== visit) return;
    if (listing.value === 'ready') return tellFault(error);
    listFault.value = faultOf(error);
    listing.value = 'failed';
  }
}

export function go(to: Place): void {
  batch(() => {
    place.value = to;
    selected.value = new Set();
  });
}

export function toggle(fileId: string): void {
  const next = new Set(selected.value);
  if (!next.delete(fileId)) next.add(fileId);
  selected.value = next;
}

export function sortBy(key: SortKey): void {
  const { key: before, down } = sort.value;
  sort.value = { key, down: before === key ? !down : key !== 'name' };
}

export function emptyShelf(): void {
  visit++;
  batch(() => {
    items.value = [];
    dirs.value = [];
    quota.value = null;
    listing.value = 'loading';
    listFault.value = null;
    selected.value = new Set();
    filter.value = '';
    place.value = 'all';
  });
}
