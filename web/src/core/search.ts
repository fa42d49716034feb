/** Search in names, ignoring case and accents. */

import { fold } from '@szafa/client';

/** For what was typed: whether a folded text has all its words, in any order. */
export function foldedMatcher(typed: string): (folded: string) => boolean {
  const words = fold(typed).split(/\s+/).filter(Boolean);
  return (folded) => words.every((word) => folded.includes(word));
}

/** The same for texts as they are. */
export function matcher(typed: string): (text: string) => boolean {
  const matches = foldedMatcher(typed);
  return (text) => matches(fold(text));
}
