import { chmod, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ifMissing } from '../volumes/durable.ts';

/** The server's own files in the data folder. Other files, and even the folder itself, may belong to someone else. */
const OURS = [
  ...['szafa.db', 'szafa.db-wal', 'szafa.db-shm', 'lock.db', 'lock.db-journal', 'system-token'],
  ...['volumes', 'accounts', 'tmp', 'trash', 'landing'],
];
const OTHERS = 0o077;
/** For the volumes folder with SZ_ACCEL, where the server's group may read volumes but not list them. */
const OTHERS_AND_LISTING = 0o067;
const GROUP_ENTERS = 0o010;
const OTHERS_WRITE = 0o022;
const STICKY = 0o1000;

/**
 * Removes access by other users, which a restored backup or a copy may have left open. Returns warnings about paths that stay
 * open.
 */
export async function closeDataFolder(folder: string, groupReads = false): Promise<string[]> {
  const open: string[] = [];
  const modeOf = (place: string) => stat(place).then(({ mode }) => mode & 0o7777, ifMissing(0));
  for (const name of OURS) {
    const place = join(folder, name);
    const closed = groupReads && name === 'volumes' ? OTHERS_AND_LISTING : OTHERS;
    const mode = await modeOf(place);
    if ((mode & closed) === 0) continue;
    // Some filesystems accept the call and keep the mode.
    await chmod(place, mode & ~closed).catch(() => undefined /* checked below */);
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
