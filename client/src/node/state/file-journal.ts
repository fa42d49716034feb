import { constants } from 'node:fs';
import { open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Claims } from '../../upload/claims.ts';
import type { Journal } from '../../upload/journal.ts';
import { FileClaims } from './file-locks.ts';
import { readIfThere, writeWhole } from './whole-file.ts';

const ENDING = '.journal';
const ENTRY = /^[0-9a-f]{64}\.journal$/;

/** One file for each unfinished transfer, in a folder of its own, and the claims of all processes that use it. @public */
export function fileJournal(folder: string): Journal & { claims: Claims } {
  const pathOf = (key: string) => join(folder, key + ENDING);
  const appends = new Map<string, Appends>();
  return {
    load: (key) => readIfThere(pathOf(key)),
    store: (key, entry) => writeWhole(pathOf(key), entry),
    async append(key, record) {
      const to = appends.get(key) ?? new Appends(pathOf(key));
      appends.set(key, to);
      await to.add(record);
    },
    async remove(key) {
      appends.delete(key);
      await rm(pathOf(key), { force: true });
    },
    async keys() {
      const names = await readdir(folder).catch(() => []); // not there: nothing was ever begun
      return names.filter((name) => ENTRY.test(name)).map((name) => name.slice(0, -ENDING.length));
    },
    claims: new FileClaims(folder),
  };
}

/** What comes while the disk is at work goes together: several volumes are sealed in the time that a disk takes. */
class Appends {
  readonly #path: string;
  #waiting: Uint8Array[] = [];
  #last: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  add(record: Uint8Array): Promise<void> {
    this.#waiting.push(record);
    this.#next ??= this.#last
      .catch(() => {}) // told to those whose records it had
      .then(() => {
        const records = this.#waiting;
        this.#waiting = [];
        this.#last = this.#next!;
        this.#next = undefined;
        return this.#write(Buffer.concat(records));
      });
    return this.#next;
  }

  async #write(records: Uint8Array): Promise<void> {
    try {
      // Not made where it is gone: records without a beginning are of no use. Nor is a pipe waited for.
      const { O_WRONLY, O_APPEND, O_NONBLOCK } = constants;
      const handle = await open(this.#path, O_WRONLY | O_APPEND | O_NONBLOCK);
      try {
        await handle.writeFile(records);
        await handle.datasync();
      } finally {
        await handle.close();
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
}
