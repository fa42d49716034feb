import { chmod, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ifMissing } from '../volumes/durable.ts';

/** What is ours in the data folder. What else is there is somebody else's, and the folder itself may be. */
const OURS = [
  ...['szafa.db', 'szafa.db-wal', 'szafa.db-shm', 'lock.db', 'lock.db-journal', 'system-token'],
  ...['volumes', 'accounts', 'tmp', 'trash', 'landing'],
];
const OTHERS = 0o077;
/** Of the folder of volumes, where the group of the server may read them (SZ_ACCEL). */
const OTHERS_AND_LISTING = 0o067;
const GROUP_ENTERS = 0o010;
const OTHERS_WRITE = 0o022;
const STICKY = 0o1000;

/**
 * Takes from everybody else what an earlier start, a restored backup or a copy has left open to them. What is made from now
 * on is closed by the umask. Returns what stays open, in words.
 */
export async function closeDataFolder(folder: string, groupReads = false): Promise<string[]> {
  const open: string[] = [];
  const modeOf = (place: string) => stat(place).then(({ mode }) => mode & 0o7777, ifMissing(0));
  for (const name of OURS) {
    const place = join(folder, name);
    const closed = groupReads && name === 'volumes' ? OTHERS_AND_LISTING : OTHERS;
    const mode = await modeOf(place);
    if ((mode & closed) === 0) continue;
    // Some filesystems take it and keep the mode that they had.
    await chmod(place, mode & ~closed).catch(() => undefined /* told below */);
    if (((await modeOf(place)) & closed) !== 0)
      open.push(`${place} is accessible to other users; restrict it (chmod go-rwx)`);
  }
  const mode = await modeOf(folder);
  if ((mode & OTHERS_WRITE) !== 0 && (mode & STICKY) === 0) {
    open.push(
      `${folder} is writable by other users, who could replace anything in it; restrict it (chmod go-w)`,
    );
  }
  if (groupReads && (mode & GROUP_ENTERS) === 0) {
    open.push(`${folder} cannot be entered by its group, so nginx reads no volumes; allow it (chmod g+x)`);
  }
  return open;
}
