import {
  type Entry,
  type Metadata,
  plainNameOf,
  type Source,
  type Szafa,
  SzafaError,
  sameContent,
} from '@szafa/client/node';

export interface Wanted {
  name: string;
  /** As it is sealed into the metadata: see `sealedSource`. */
  origin: string;
  /** Milliseconds since 1970. */
  mtime: number;
}

export interface Existing {
  /** The file that an upload would only repeat, and what has shown it. */
  same?: { entry: Entry; metadata: Metadata; by: 'time' | 'content' };
  /** Where a file of this name has come from, if that is another place. */
  from?: string;
}

/** Versions of one name that are looked at. */
const MOST_VERSIONS = 4;

/**
 * What an upload would meet. Size and time alone do not make two files the same: folders of one name merge, and what a
 * program writes in one go has one time. Where the source differs, the content decides; with `checksum` always.
 */
export async function findExisting(
  szafa: Szafa,
  entries: Entry[],
  wanted: Wanted,
  source: Source,
  { checksum, signal }: { checksum: boolean; signal: AbortSignal },
): Promise<Existing> {
  const plain = plainNameOf(wanted.name);
  const named = entries.filter((entry) => entry.name === (entry.verified ? wanted.name : plain));
  const fitting = named.filter((entry) => !entry.verified || entry.size === source.size);
  const found: Existing = {};
  // Of one that cannot be the same only its source is of interest.
  for (const entry of fitting.length > 0 ? fitting.slice(0, MOST_VERSIONS) : named.slice(0, 1)) {
    try {
      const remote = await szafa.openFile(entry.fileId, { record: entry.record, headOnly: true, signal });
      const { metadata } = remote;
      const { name, size, mtime, source: origin } = metadata;
      if (name !== wanted.name) continue;
      if (origin !== undefined && origin !== wanted.origin) found.from ??= origin;
      if (size !== source.size) continue;
      const inTime = mtime === wanted.mtime;
      if (inTime && origin === wanted.origin && !checksum) {
        return { ...found, same: { entry, metadata, by: 'time' } };
      }
      if ((inTime || checksum) && (await sameContent(remote, source, signal))) {
        return { ...found, same: { entry, metadata, by: 'content' } };
      }
    } catch (error) {
      // A file of another client, a damaged one, or one that was removed meanwhile is not the same.
      if (!(error instanceof SzafaError) || error.code === 'network' || error.code === 'file-changed')
        throw error;
    }
  }
  return found;
}
