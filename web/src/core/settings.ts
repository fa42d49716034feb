/** Settings of this browser. They reveal nothing about files, so they stay after sign-out. */
import { effect, type Signal, signal } from '@preact/signals';
import { LANGUAGES, type Language } from './text/language.ts';

/** A setting stored in this browser. The first choice is the default. */
function kept<T extends string>(name: string, choices: readonly [T, ...T[]]): Signal<T> {
  const key = `szafa-${name}`;
  const chosen = signal<T>(choices[0]);
  try {
    const before = localStorage.getItem(key) as T;
    if (choices.includes(before)) chosen.value = before;
    // Follow a change in another tab.
    globalThis.addEventListener('storage', ({ key: changed, newValue }) => {
      if (changed === key) chosen.value = choices.includes(newValue as T) ? (newValue as T) : choices[0];
    });
    effect(() => {
      if (chosen.value === choices[0]) localStorage.removeItem(key);
      else localStorage.setItem(key, chosen.value);
    });
  } catch {
    // Without localStorage, the choice lasts until the page is closed.
  }
  return chosen;
}

export const chosenLanguage = kept<Language | 'auto'>('language', [
  'auto',
  ...(Object.keys(LANGUAGES) as Language[]),
]);
export const chosenLayout = kept<'list' | 'grid' | 'timeline'>('layout', ['list', 'grid', 'timeline']);
export const chosenColours = kept<'auto' | 'light' | 'dark'>('colours', ['auto', 'light', 'dark']);
/** The column that sorts the list, and the direction. */
export const chosenSort = kept('sort', [
  'date down',
  'date up',
  'name up',
  'name down',
  'size down',
  'size up',
]);
