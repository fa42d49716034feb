/** Which names somebody means who types a part of them: accents, large and small letters do not matter. */

import { fold } from '@szafa/client';

/** For what was typed: whether a path has all its words, in any order. Paths are folded once and remembered. */
export function matcher(typed: string): (path: string) => boolean {
  const words = fold(typed).split(/\s+/).filter(Boolean);
  return (path) => {
    const folded = remembered(path);
    return words.every((word) => folded.includes(word));
  };
}

const MOST = 100_000;
const known = new Map<string, string>();

function remembered(path: string): string {
  const found = known.get(path);
  if (found !== undefined) return found;
  if (known.size >= MOST) known.clear();
  const folded = fold(path);
  known.set(path, folded);
  return folded;
}

/** Paths are nobody's business after a sign-out. */
export function forgetSearch(): void {
  known.clear();
}
