import { createHash, randomBytes } from 'node:crypto';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { KnownRing, RingCache } from '../keyring.ts';
import type { Claims } from '../upload/claims.ts';
import type { Journal } from '../upload/journal.ts';
import { FileClaims } from './file-claims.ts';
import { makeFolder } from './folders.ts';

/** Whole or not at all, also after a power cut. */
async function writeWhole(path: string, data: Uint8Array | string): Promise<void> {
  makeFolder(dirname(path), 0o700);
  const temporary = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    const handle = await open(temporary, 'wx', 0o600);
    try {
      await handle.writeFile(data);
      await handle.datasync();
    } finally {
      await handle.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function readIfThere(path: string): Promise<Uint8Array | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

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

/** The rings of the accounts of one service, for `ConnectOptions.rings`. @public */
export function fileRings(folder: string, server: string): (username: string) => RingCache {
  return (username) => {
    const id = createHash('sha256')
      .update(JSON.stringify([server, username]))
      .digest('hex')
      .slice(0, 32);
    const path = join(folder, `rings-${id}.json`);
    const load = async (): Promise<KnownRing[]> => {
      const bytes = await readIfThere(path);
      if (!bytes) return [];
      try {
        const rings: unknown = JSON.parse(Buffer.from(bytes).toString());
        return Array.isArray(rings) ? (rings as KnownRing[]) : [];
      } catch {
        return []; // a damaged cache: the files themselves carry their rings
      }
    };
    return {
      load,
      async save(rings) {
        // Another process may have found a ring meanwhile; what was known stays known.
        const mine = new Set(rings.map(({ ring }) => JSON.stringify(ring)));
        const others = (await load()).filter(({ ring }) => !mine.has(JSON.stringify(ring)));
        await writeWhole(path, JSON.stringify([...rings, ...others]));
      },
    };
  };
}
