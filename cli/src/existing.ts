import { lstatSync } from 'node:fs';
import type { Entry, Metadata, Szafa } from '@szafa/client/node';
import { SzafaError } from '@szafa/client/node';
import { cleanFileName } from '@szafa/protocol';

export interface Wanted {
  name: string;
  size: number;
  /** Milliseconds since 1970. */
  mtime: number;
}

/** Versions of one name that are looked at. */
const MOST_VERSIONS = 4;
const MTIME_SLACK_MS = 1;

function sameTime(a: number, b: number): boolean {
  return Math.abs(Math.round(a) - b) <= MTIME_SLACK_MS;
}

/** The file that an upload would only repeat: same name, size and time of change, as rsync decides it. */
export async function findSame(
  szafa: Szafa,
  entries: Entry[],
  wanted: Wanted,
  signal: AbortSignal,
): Promise<Entry | undefined> {
  const plain = plainName(wanted.name);
  const candidates = entries.filter((entry) =>
    entry.verified ? entry.name === wanted.name && entry.size === wanted.size : entry.name === plain,
  );
  for (const entry of candidates.slice(0, MOST_VERSIONS)) {
    try {
      const { metadata } = await szafa.openFile(entry.fileId, { signal });
      const { name, size, mtime } = metadata;
      if (
        name === wanted.name &&
        size === wanted.size &&
        mtime !== undefined &&
        sameTime(wanted.mtime, mtime)
      ) {
        return entry;
      }
    } catch (error) {
      // A file of another client, a damaged one, or one that was removed meanwhile is not the same.
      if (!(error instanceof SzafaError) || error.code === 'network') throw error;
    }
  }
  return undefined;
}

function plainName(name: string): string | undefined {
  try {
    return cleanFileName(name);
  } catch {
    return undefined; // nothing of it would be left, so it cannot be there under a plain name
  }
}

export type LocalState = 'absent' | 'same' | 'other';

/** Whether a download would only repeat what is on disk. */
export function localState(path: string, { size, mtime }: Metadata): LocalState {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats) return 'absent';
  const same = stats.isFile() && stats.size === size && mtime !== undefined && sameTime(stats.mtimeMs, mtime);
  return same ? 'same' : 'other';
}
