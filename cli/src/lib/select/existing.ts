import {
  type ApiError,
  type Entry,
  isSameTime,
  type Metadata,
  plainNameOf,
  recordsOf,
  type Source,
  type Szafa,
  SzafaError,
  sameContent,
  type Tree,
  type Version,
} from '@szafa/client/node';

export interface Wanted {
  /** Its path on the service. */
  to: string;
  /** As it is sealed into the metadata: see `sealedSource`. */
  origin: string;
  /** Milliseconds since 1970, and nanoseconds to add. */
  mtime: number;
  nanos?: number | undefined;
}

export interface Existing {
  /** The file that an upload would only repeat, and what has shown it. */
  same?: { entry: Entry; metadata: Metadata; by: 'time' | 'content' };
  /** Where a file of this name has come from, if that is another place. */
  from?: string;
}

/** A file of a name, opened as far as its header. */
export type Opened = Version & { metadata: Metadata };

/** The files of this path that can be opened, newest first by what is sealed into them. */
export async function versionsAt(
  szafa: Szafa,
  path: string,
  tree: Tree,
  signal: AbortSignal,
): Promise<Opened[]> {
  const nodes = [tree.file(path), tree.file(plainPathOf(path))];
  const entries = new Set(nodes.flatMap((node) => (node ? recordsOf(node) : [])));
  // Files of other clients, and those that do not open, are nothing that an upload could repeat.
  const versions = await szafa.versions([...entries], { signal });
  return versions.filter((version): version is Opened => version.metadata?.name === path);
}

/** The path under which the service would show it, if its name is not sealed. */
function plainPathOf(path: string): string {
  const below = path.slice(path.indexOf('/') + 1);
  return path.slice(0, path.length - below.length) + (plainNameOf(below) ?? below);
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
  if (newest?.metadata.size !== source.size || newest.metadata.link !== undefined) return found;
  const { entry, metadata } = newest;
  const inTime = metadata.mtime === wanted.mtime;
  const { mtime, nanos = 0 } = wanted;
  if (isSameTime(metadata, { mtime, nanos }) && metadata.source === wanted.origin && !checksum) {
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
