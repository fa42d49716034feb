import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Szafa } from '@szafa/client/node';
import { plural } from '../../print/text.ts';
import { createLookup } from '../../select/lookup.ts';
import type { PlannedFile } from '../../select/plan.ts';
import type { Put } from './context.ts';
import { putOne } from './file.ts';

const RETRY_LOCK_MS = 200;
/** Locks are released in batches at this interval, because thousands of small files can finish in a second. */
const RELEASE_MS = 100;

/** Returns the name of the lock on a server path, which keeps two commands from uploading to it at once. */
export function uploadLock({ api, username }: Szafa, to: string): string {
  return hash('sha256', JSON.stringify(['upload', api.server, username, to]));
}

/**
 * Uploads all files. If another szafa is uploading to the same path, waits for it; the file is then already there, or is resumed.
 * Lists the server after taking the locks, so that the list includes all that other commands have uploaded.
 */
export async function putAll(put: Put, files: PlannedFile[], parallel: number): Promise<void> {
  const { run, szafa } = put;
  const { out, batch, signal } = run.invocation;
  const { locks } = run.journal;
  let pending = files.map((file) => ({ file, path: file.path, lock: uploadLock(szafa, file.to) }));
  let isReported = false;
  while (pending.length > 0) {
    signal.throwIfAborted();
    if (batch.stopped) {
      batch.left += pending.length;
      return;
    }
    const taken = await locks.take(pending.map(({ lock }) => lock));
    const now = pending.filter(({ lock }) => taken.has(lock));
    pending = pending.filter(({ lock }) => !taken.has(lock));
    if (pending.length > 0 && !isReported) {
      isReported = true;
      const message = `waiting for another szafa that is uploading ${plural(pending.length, 'file')} of these`;
      out.note('waiting', message, { files: pending.length });
    }
    if (now.length === 0) {
      await sleep(RETRY_LOCK_MS);
      continue;
    }
    put.lookup = createLookup(szafa, signal);
    const files = now.map(({ file }) => file);
    await checkOrigins(put, files);
    const finished: string[] = [];
    let timer: NodeJS.Timeout | undefined;
    const release = () => {
      timer = undefined;
      const some = finished.splice(0);
      const forget = () => {
        for (const lock of some) taken.delete(lock);
      };
      // On failure the locks stay in `taken`, and the release at the end tries again.
      locks.release(some).then(forget, () => {});
    };
    const work = async ({ file, lock }: (typeof now)[number]) => {
      try {
        await putOne(put, file);
        // Count only empty folders.
        if (file.kind === 'folder' && !file.isEmpty) batch.done--;
      } finally {
        finished.push(lock);
        timer ??= setTimeout(release, RELEASE_MS);
      }
    };
    try {
      await batch.each(now, work, { parallel });
    } finally {
      clearTimeout(timer);
      await locks.release(taken);
    }
  }
}

/** Notes folders of the same name that were uploaded from another local path. */
async function checkOrigins({ lookup, origins, paths, run }: Put, files: PlannedFile[]): Promise<void> {
  if (run.invocation.flags.force) return;
  const sources = new Map(files.flatMap(({ from, to }) => (from ? [[from.path, { from, to }]] : [])));
  for (const { from, to } of sources.values()) {
    const tree = await lookup.near(to);
    const folder = tree.folder(from.prefix.slice(0, -1));
    const there = folder ? [...tree.within(folder)].map(({ entry }) => entry) : [];
    await origins.checkFolder(from, there, (path) => paths.has(path));
  }
}
