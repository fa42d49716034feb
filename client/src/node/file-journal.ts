import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Claims } from '../upload/claims.ts';
import type { Journal } from '../upload/journal.ts';
import { FileClaims } from './file-claims.ts';
import { readIfThere, writeWhole } from './whole-file.ts';

/** One file for each unfinished transfer, in a folder of its own, and the claims of all processes that use it. @public */
export function fileJournal(folder: string): Journal & { claims: Claims } {
  const pathOf = (key: string) => join(folder, `${key}.journal`);
  return {
    load: (key) => readIfThere(pathOf(key)),
    store: (key, entry) => writeWhole(pathOf(key), entry),
    remove: (key) => rm(pathOf(key), { force: true }),
    claims: new FileClaims(folder),
  };
}
