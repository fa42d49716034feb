import { randomBytes } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeLocalFolder } from './folders.ts';

/** Whole or not at all, also after a power cut. */
export async function writeWhole(path: string, data: Uint8Array | string): Promise<void> {
  makeLocalFolder(dirname(path), 0o700);
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

/** For its owner alone, where SQLite will write. One that is there is not opened: closing it again would end this process's locks on it. */
export function makeFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

export async function readIfThere(path: string): Promise<Uint8Array | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
