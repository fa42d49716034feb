import { chmod, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ifMissing } from '../volumes/durable.ts';

/** What is ours in the data folder. What else is there is somebody else's, and the folder itself may be. */
const OURS = [
  ...['szafa.db', 'szafa.db-wal', 'szafa.db-shm', 'lock.db', 'lock.db-journal', 'system-token'],
  ...['volumes', 'accounts', 'tmp', 'trash', 'landing'],
];
const OTHERS = 0o077;
const OTHERS_WRITE = 0o022;
const STICKY = 0o1000;

/**
 * Takes from everybody else what an earlier start, a restored backup or a copy has left open to them. What is made from now
 * on is closed by the umask. Returns what stays open, in words.
 */
export async function closeDataFolder(folder: string): Promise<string[]> {
  const open: string[] = [];
  const modeOf = (place: string) => stat(place).then(({ mode }) => mode & 0o7777, ifMissing(0));
  for (const place of OURS.map((name) => join(folder, name))) {
    const mode = await modeOf(place);
    if ((mode & OTHERS) === 0) continue;
    // Some filesystems take it and keep the mode that they had.
    await chmod(place, mode & ~OTHERS).catch(() => undefined /* told below */);
    if (((await modeOf(place)) & OTHERS) !== 0)
      open.push(`${place} is accessible to other users; restrict it (chmod go-rwx)`);
  }
  const mode = await modeOf(folder);
  if ((mode & OTHERS_WRITE) !== 0 && (mode & STICKY) === 0) {
    open.push(
      `${folder} is writable by other users, who could replace anything in it; restrict it (chmod go-w)`,
    );
  }
  return open;
}
