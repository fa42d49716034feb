/** Layout of the files: a list, tiles, or a timeline of all pictures by month. */
import { computed } from '@preact/signals';
import type { Item } from '../../core/bridge/calls.ts';
import { month } from '../../core/format.ts';
import { chosenLayout } from '../../core/settings.ts';
import { filter, items, visible } from '../file-list.ts';

export interface Section {
  title: string;
  items: Item[];
}

const PICTURE = /\.(png|jpe?g|gif|webp|avif|bmp|heic|tiff?|mp4|m4v|webm|mov|mkv|ogv)$/i;

/** Pictures and videos of all folders, or those found by a search, newest first. */
const pictures = computed(() =>
  (filter.value.trim() === '' ? items : visible).value
    .filter(({ name }) => PICTURE.test(name))
    .toSorted((a, b) => b.createdAt - a.createdAt),
);

export const isTimeline = computed(() => chosenLayout.value === 'timeline');

/** The files that a preview steps through, in order. */
export const shownFiles = computed(() => (isTimeline.value ? pictures.value : visible.value));

export const sections = computed((): Section[] => {
  if (!isTimeline.value) return [{ title: '', items: visible.value }];
  const found: Section[] = [];
  for (const item of pictures.value) {
    const title = month(item.createdAt);
    if (found.at(-1)?.title !== title) found.push({ title, items: [] });
    found.at(-1)!.items.push(item);
  }
  return found;
});
