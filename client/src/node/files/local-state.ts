import { lstatSync } from 'node:fs';
import type { Metadata } from '@szafa/format';
import { diskPath } from './disk-path.ts';
import { exactTime } from './times.ts';

export type LocalState = 'absent' | 'same' | 'other';

/** Compares a local file with a remote one by size and by time in milliseconds. @public */
export function localState(path: string, { size, mtime }: Pick<Metadata, 'size' | 'mtime'>): LocalState {
  const stats = lstatSync(diskPath(path), { bigint: true, throwIfNoEntry: false });
  if (!stats) return 'absent';
  const isSame = stats.isFile() && Number(stats.size) === size && exactTime(stats.mtimeNs).mtime === mtime;
  return isSame ? 'same' : 'other';
}
