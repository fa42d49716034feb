import { randomBytes } from 'node:crypto';
import { closeSync, constants, openSync, statSync } from 'node:fs';
import { link, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { SzafaError } from '../../errors.ts';
import { makeLocalFolder } from '../files/folders.ts';

/** Whole or not at all, also after a power cut. */
export const writeWhole = (path: string, data: Uint8Array | string): Promise<void> =>
  write(path, data, (temporary) => rename(temporary, path));

/**
 * The same, but only if there is none; says whether it is this one. On a disk without links, as FAT is, it is not whole at once: who
 * reads in that moment, or after a power cut in it, finds a part of it, and must not take that for nothing.
 */
export async function writeFirst(path: string, data: Uint8Array | string): Promise<boolean> {
  try {
    await write(path, data, async (temporary) => {
      await link(temporary, path).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'EEXIST') throw error;
        return writeNew(path, data);
      });
      await rm(temporary, { force: true });
    });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function write(
  path: string,
  data: Uint8Array | string,
  place: (temporary: string) => Promise<void>,
): Promise<void> {
  makeLocalFolder(dirname(path), 0o700);
  const temporary = `${path}.${randomBytes(6).toString('hex')}`;
  await writeNew(temporary, data);
  try {
    await place(temporary);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Durable, or gone again; EEXIST where there is one. */
async function writeNew(path: string, data: Uint8Array | string): Promise<void> {
  const handle = await open(path, 'wx', 0o600);
  try {
    try {
      await handle.writeFile(data);
      await handle.datasync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

/** For its owner alone, where SQLite will write. One that is there is not opened: closing it again would end this process's locks on it. */
export function makeFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) throw inTheWay(path);
  }
}

/** The whole file; undefined where there is none. @public */
export async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    // A pipe is not waited for.
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      if (!(await handle.stat()).isFile()) throw inTheWay(path);
      return await handle.readFile();
    } finally {
      await handle.close();
    }
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw UNOPENABLE.has(code) ? inTheWay(path) : error;
  }
}

/** A socket; a symbolic link to itself. */
const UNOPENABLE = new Set(['ENXIO', 'ELOOP']);
const inTheWay = (path: string) => new SzafaError('in-the-way', `${path} is in the way: it is not a file`);
