import { lstatSync } from 'node:fs';
import type { Metadata } from '../format/metadata.ts';
import { keptTime } from './file-source.ts';

export type LocalState = 'absent' | 'same' | 'other';

/** Whether a download would only repeat what is on disk: a file of the same size and time. @public */
export function localState(path: string, { size, mtime }: Pick<Metadata, 'size' | 'mtime'>): LocalState {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats) return 'absent';
  return stats.isFile() && stats.size === size && keptTime(stats.mtimeMs) === mtime ? 'same' : 'other';
}
