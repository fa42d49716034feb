import { randomBytes } from 'node:crypto';
import { closeSync, constants, openSync, statSync } from 'node:fs';
import { link, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { SzafaError } from '../../errors.ts';
import { makeLocalFolder } from '../files/folders.ts';

/** Replaces a file atomically. A power failure leaves the old or the new content, never a mix. */
export const writeAtomic = (path: string, data: Uint8Array | string): Promise<void> =>
  write(path, data, (temporary) => rename(temporary, path));

/**
 * Writes a file only if it does not exist, and returns whether it did. Not atomic on a disk without hard links, such as FAT: a reader may
 * see a partial file, and must treat it as damaged, not as absent.
 */
export async function writeIfAbsent(path: string, data: Uint8Array | string): Promise<boolean> {
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
  moveInPlace: (temporary: string) => Promise<void>,
): Promise<void> {
  makeLocalFolder(dirname(path), 0o700);
  const temporary = `${path}.${randomBytes(6).toString('hex')}`;
  await writeNew(temporary, data);
  try {
    await moveInPlace(temporary);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Writes a new file and syncs it; removes it again on failure. Throws EEXIST if the file exists. */
async function writeNew(path: string, data: Uint8Array | string): Promise<void> {
  const created = await open(path, 'wx', 0o600);
  try {
    await using handle = created;
    await handle.writeFile(data);
    await handle.datasync();
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

/** Creates a private file for SQLite. Never opens an existing file: closing it would release this process's locks on it. */
export function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) throw notAFile(path);
  }
}

/**
 * Reads a whole file.
 * @returns undefined if the file does not exist
 * @throws SzafaError with code `in-the-way` if the path is not a file @public
 */
export async function readIfPresent(path: string): Promise<Buffer | undefined> {
  try {
    // O_NONBLOCK keeps a pipe without a writer from blocking.
    await using handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    if (!(await handle.stat()).isFile()) throw notAFile(path);
    return await handle.readFile();
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw UNOPENABLE.has(code) ? notAFile(path) : error;
  }
}

/** Error codes for a socket, and for a symbolic link to itself. */
const UNOPENABLE = new Set(['ENXIO', 'ELOOP']);
const notAFile = (path: string) => new SzafaError('in-the-way', `${path} is in the way: it is not a file`);
