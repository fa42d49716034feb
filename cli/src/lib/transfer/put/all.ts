import { hash } from 'node:crypto';
import type { Szafa } from '@szafa/client/node';
import { plural } from '../../print/text.ts';
import { Lookup } from '../../select/lookup.ts';
import type { Planned } from '../../select/plan.ts';
import type { Batch } from '../batch.ts';
import type { Put } from './context.ts';
import { putOne } from './file.ts';

const ASK_EVERY_MS = 200;
/** Thousands of small files end in a second: their claims end together. */
const RELEASE_EVERY_MS = 100;

/** Two of one account do not upload to one path at the same time. */
export function uploadClaim({ api, username }: Szafa, to: string): string {
  return hash('sha256', JSON.stringify(['upload', api.server, username, to]));
}

/**
 * All files. What another szafa is uploading to the same place at this moment waits until that one has ended; then it
 * is already there, or is resumed. What is there is listed after the claims, so nothing comes in between.
 */
export async function putAll(put: Put, files: Planned[], batch: Batch, parallel: number): Promise<void> {
  const { invocation, szafa, journal } = put;
  const { out, signal } = invocation;
  const { claims } = journal;
  let pending = files.map((file) => ({ file, claim: uploadClaim(szafa, file.to) }));
  let told = false;
  while (pending.length > 0) {
    signal.throwIfAborted();
    if (batch.stopped) {
      batch.left += pending.length;
      return;
    }
    const taken = await claims.take(pending.map(({ claim }) => claim));
    const now = pending.filter(({ claim }) => taken.has(claim));
    pending = pending.filter(({ claim }) => !taken.has(claim));
    if (pending.length > 0 && !told) {
      told = true;
      const message = `waiting for another szafa that is uploading ${plural(pending.length, 'file')} of these`;
      out.note('waiting', message, { files: pending.length });
    }
    if (now.length === 0) {
      await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
      continue;
    }
    put.lookup = new Lookup(szafa, signal);
    await lookAround(
      put,
      now.map(({ file }) => file),
    );
    const over: string[] = [];
    let timer: NodeJS.Timeout | undefined;
    const releaseOver = () => {
      timer = undefined;
      const some = over.splice(0);
      // Where it fails it is done once more, at the end.
      const forget = () => {
        for (const claim of some) taken.delete(claim);
      };
      claims.release(some).then(forget, () => {});
    };
    try {
      const options = { out, signal, parallel, about: ({ file }: { file: Planned }) => file.path };
      await batch.run(now, options, async ({ file, claim }) => {
        try {
          await putOne(put, file);
          // A folder that is not empty is no item of its own.
          if (file.kind === 'folder' && !file.isEmpty) batch.done--;
        } finally {
          over.push(claim);
          timer ??= setTimeout(releaseOver, RELEASE_EVERY_MS);
        }
      });
    } finally {
      clearTimeout(timer);
      await claims.release(taken);
    }
  }
}

/** Whether a folder of the same name was put there from another place. */
async function lookAround({ lookup, origins, paths, invocation }: Put, files: Planned[]): Promise<void> {
  const { flags, signal } = invocation;
  if (flags.force) return;
  const sources = new Map(files.flatMap(({ from, to }) => (from ? [[from.path, { from, to }]] : [])));
  for (const { from, to } of sources.values()) {
    const tree = await lookup.near(to);
    const folder = tree.folder(from.prefix.slice(0, -1));
    const there = folder ? [...tree.within(folder)].map(({ entry }) => entry) : [];
    await origins.look(from, there, (path) => paths.has(path), signal);
  }
}
