import {
  closeSync,
  constants,
  fsync as fsyncCallback,
  openSync,
  writeFile as writeFileCallback,
} from 'node:fs';
import { promisify } from 'node:util';

const fsync = promisify(fsyncCallback);
const writeAll = promisify(writeFileCallback);

/** Syncs a folder, which makes renames in it durable. Also works for files. */
export async function syncFolder(path: string): Promise<void> {
  const fd = openSync(path, constants.O_RDONLY);
  try {
    await fsync(fd);
  } finally {
    closeSync(fd);
  }
}

export async function writeDurably(path: string, text: string): Promise<void> {
  // With O_DSYNC the write returns when the bytes are on disk.
  const { O_WRONLY, O_CREAT, O_EXCL, O_DSYNC } = constants;
  const fd = openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_DSYNC, 0o600);
  try {
    await writeAll(fd, text);
  } finally {
    closeSync(fd);
  }
}

export function ifMissing<T>(value: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === 'ENOENT') return value;
    throw error;
  };
}
