import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { RevStores } from '../../seen-revs.ts';
import { readIfThere, writeWhole } from './whole-file.ts';

/** Beyond it the first go. */
const MOST_REVS = 200_000;

function parse(text: Uint8Array): [string, number][] {
  try {
    const all = Object.entries(JSON.parse(Buffer.from(text).toString()) as Record<string, unknown>);
    return all.filter((one): one is [string, number] => Number.isSafeInteger(one[1]));
  } catch {
    return []; // damaged: as on a device that has seen nothing
  }
}

/** The highest `rev` of renamed files: a file for each account, without a secret. @public */
export function fileRevs(folder: string, server: string): RevStores {
  return {
    of(username) {
      const id = createHash('sha256').update(JSON.stringify([server, username]));
      const path = join(folder, `revs-${id.digest('hex').slice(0, 32)}.json`);
      const load = async () => new Map(parse((await readIfThere(path)) ?? new Uint8Array(0)));
      return {
        load,
        async save(revs) {
          // Another process may have seen later ones meanwhile.
          const all = await load();
          for (const [fileId, rev] of revs) all.set(fileId, Math.max(rev, all.get(fileId) ?? 1));
          await writeWhole(path, JSON.stringify(Object.fromEntries([...all].slice(-MOST_REVS))));
        },
      };
    },
  };
}
