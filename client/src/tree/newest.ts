import type { Age } from '../listing.ts';

type Ranked = Pick<Age, 'gen' | 'added'>;

/** The order of the files of one path. */
export const newestFirst = (a: Ranked, b: Ranked) => b.gen - a.gen || b.added - a.added;
