/** Searches names, ignoring case and accents. */

import { fold } from '@szafa/client';

/** Returns a function that tests whether a folded text contains all typed words, in any order. */
export function foldedMatcher(typed: string): (folded: string) => boolean {
  const words = fold(typed).split(/\s+/).filter(Boolean);
  return (folded) => words.every((word) => folded.includes(word));
}

/** Like foldedMatcher, for texts that are not folded yet. */
export function matcher(typed: string): (text: string) => boolean {
  const matches = foldedMatcher(typed);
  return (text) => matches(fold(text));
}
