import { constants } from 'node:fs';
import { open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Journal } from '../../transfers/upload/journal.ts';
import type { TransferLocks } from '../../transfers/upload/locks.ts';
import { readIfPresent, writeAtomic } from './atomic-file.ts';
import { FileLocks } from './file-locks.ts';

const ENDING = '.journal';
const ENTRY = /^[0-9a-f]{64}\.journal$/;

/** Keeps unfinished transfers in a folder, one file each, with locks among the processes that share the folder. @public */
export function fileJournal(folder: string): Journal & { locks: TransferLocks } {
  const pathOf = (key: string) => join(folder, key + ENDING);
  const appends = new Map<string, ReturnType<typeof createAppender>>();
  return {
    load: (key) => readIfPresent(pathOf(key)),
    store: (key, entry) => writeAtomic(pathOf(key), entry),
    async append(key, record) {
      const add = appends.get(key) ?? createAppender(pathOf(key));
      appends.set(key, add);
      await add(record);
    },
    async remove(key) {
      appends.delete(key);
      await rm(pathOf(key), { force: true });
    },
    async keys() {
      const names = await readdir(folder).catch(() => []); // no folder: no transfer was ever started
      return names.filter((name) => ENTRY.test(name)).map((name) => name.slice(0, -ENDING.length));
    },
    locks: new FileLocks(folder),
  };
}

/** Collects records while the disk is busy and writes them together: several volumes are sealed during one write. */
function createAppender(path: string): (record: Uint8Array) => Promise<void> {
  let waiting: Uint8Array[] = [];
  let last = Promise.resolve();
  let next: Promise<void> | undefined;
  return (record) => {
    waiting.push(record);
    next ??= last
      .catch(() => {}) // reported to the callers of that write
      .then(() => {
        const records = waiting;
        waiting = [];
        last = next!;
        next = undefined;
        return append(path, Buffer.concat(records));
      });
    return next;
  };
}

async function append(path: string, records: Uint8Array): Promise<void> {
  try {
    // No O_CREAT: records are useless without the start of the entry. O_NONBLOCK keeps a pipe from blocking.
    const { O_WRONLY, O_APPEND, O_NONBLOCK } = constants;
    await using handle = await open(path, O_WRONLY | O_APPEND | O_NONBLOCK);
    await handle.writeFile(records);
    await handle.datasync();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
