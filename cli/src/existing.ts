import {
  type ApiError,
  type Entry,
  type Metadata,
  plainNameOf,
  type Source,
  type Szafa,
  SzafaError,
  sameContent,
  type Version,
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

/** A file of a name, opened as far as its header. */
export type Opened = Version & { metadata: Metadata };

/** What a file is called below its directory, as it is sealed. */
export function nameIn({ verified, name, dirId }: Entry, { name: path }: Metadata): string {
  if (verified) return name;
  return dirId ? path.slice(path.indexOf('/') + 1) : path;
}

/** The files of this name that can be opened, newest first by what is sealed into them. */
export async function versionsCalled(
  szafa: Szafa,
  name: string,
  byName: ReadonlyMap<string, Entry[]>,
  signal: AbortSignal,
): Promise<Opened[]> {
  const plain = plainNameOf(name);
  const texts = plain === undefined || plain === name ? [name] : [name, plain];
  const candidates = texts.flatMap((text) => byName.get(text) ?? []);
  const named = candidates.filter((entry) => entry.name === (entry.verified ? name : plain));
  // Files of other clients, and those that do not open, are nothing that an upload could repeat.
  const versions = await szafa.versions(named, { signal });
  return versions.filter((version): version is Opened => {
    const { entry, metadata } = version;
    return metadata !== undefined && nameIn(entry, metadata) === name;
  });
}

/**
 * What an upload would meet. It repeats a file only where that is the newest from this source (of those that name none, too): what
 * came back to an older state is a new version. Size and time alone do not make two files the same: folders of one name merge, and what a
 * program writes in one go has one time. Where the source differs, the content decides; with `checksum` always.
 */
export async function findExisting(
  szafa: Szafa,
  versions: Opened[],
  wanted: Wanted,
  source: Source,
  { checksum, signal }: { checksum: boolean; signal: AbortSignal },
): Promise<Existing> {
  const elsewhere = ({ metadata: { source: from } }: Opened) => from !== undefined && from !== wanted.origin;
  const from = versions.find(elsewhere)?.metadata.source;
  const found: Existing = from === undefined ? {} : { from };
  const newest = versions.find((version) => !elsewhere(version)) ?? versions[0];
  if (newest?.metadata.size !== source.size) return found;
  const { entry, metadata } = newest;
  const inTime = metadata.mtime === wanted.mtime;
  if (inTime && metadata.source === wanted.origin && !checksum) {
    return { ...found, same: { entry, metadata, by: 'time' } };
  }
  if (!inTime && !checksum) return found;
  try {
    const remote = await szafa.openFile(entry.fileId, { record: entry.record, headOnly: true, signal });
    if (await sameContent(remote, source, signal)) {
      return { ...found, same: { entry, metadata, by: 'content' } };
    }
  } catch (error) {
    if (!(error instanceof SzafaError && error.code === 'api')) throw error;
    if ((error as ApiError).status !== 404) throw error; // 404: removed meanwhile
  }
  return found;
}
