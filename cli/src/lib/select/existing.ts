import type { ApiError, Entry, Metadata, Source, Szafa, Tree, Version } from '@szafa/client/node';
import { isSameTime, plainNameOf, recordsOf, SzafaError, sameContent } from '@szafa/client/node';

export interface ExistingFile {
  /** The version with the same content, and whether this follows from its time or from comparing bytes. */
  same?: { entry: Entry; metadata: Metadata; by: 'time' | 'content' };
  /** Another local path that a version of this file was uploaded from. */
  from?: string;
}

export type ReadableVersion = Version & { metadata: Metadata };

/** Returns the versions of a path that can be opened, newest first. The order comes from their sealed headers. */
export async function versionsAt(
  szafa: Szafa,
  path: string,
  tree: Tree,
  signal: AbortSignal,
): Promise<ReadableVersion[]> {
  const nodes = [tree.file(path), tree.file(plainPath(path))];
  const entries = new Set(nodes.flatMap((node) => (node ? recordsOf(node) : [])));
  // Leave out versions that do not open or that are sealed under another path.
  const versions = await szafa.versions([...entries], { signal });
  return versions.filter((version): version is ReadableVersion => version.metadata?.name === path);
}

/** The path under which the server lists this file if its name is not sealed. */
function plainPath(path: string): string {
  const below = path.slice(path.indexOf('/') + 1);
  return path.slice(0, path.length - below.length) + (plainNameOf(below) ?? below);
}

/**
 * Finds the version that this upload would only repeat. Compares with one version, the newest from the same or an unknown source, so
 * that a file reverted to an older state becomes a new version. If the source is the same, equal size and time are enough. Otherwise,
 * or with `checksum`, the content is compared: two folders of one name may be merged, and many files may have the same time. `origin`
 * is the local path as `sealedSource` returns it.
 */
export async function findExisting(
  { szafa, signal }: { szafa: Szafa; signal: AbortSignal },
  versions: ReadableVersion[],
  source: Source & { mtime: number; nanos?: number | undefined },
  { origin, checksum }: { origin: string; checksum: boolean },
): Promise<ExistingFile> {
  const elsewhere = ({ metadata }: ReadableVersion) =>
    metadata.source !== undefined && metadata.source !== origin;
  const from = versions.find(elsewhere)?.metadata.source;
  const found: ExistingFile = from === undefined ? {} : { from };
  const newest = versions.find((version) => !elsewhere(version)) ?? versions[0];
  if (newest?.metadata.size !== source.size || newest.metadata.link !== undefined) return found;
  const { entry, metadata } = newest;
  const { mtime, nanos = 0 } = source;
  if (isSameTime(metadata, { mtime, nanos }) && metadata.source === origin && !checksum) {
    return { ...found, same: { entry, metadata, by: 'time' } };
  }
  if (metadata.mtime !== mtime && !checksum) return found;
  try {
    const remote = await szafa.openFile(entry.fileId, { record: entry.record, headOnly: true, signal });
    if (await sameContent(remote, source, signal)) {
      return { ...found, same: { entry, metadata, by: 'content' } };
    }
  } catch (error) {
    const isApiError = error instanceof SzafaError && error.code === 'api';
    if (!isApiError || (error as ApiError).status !== 404) throw error; // 404: deleted since it was listed
  }
  return found;
}
