import type { ApiError, Entry, Metadata, Source, Szafa, Tree, Version } from '@szafa/client/node';
import { isSameTime, plainNameOf, recordsOf, SzafaError, sameContent } from '@szafa/client/node';

export interface ExistingFile {
  /** The version that an upload would only repeat, and what has shown it. */
  same?: { entry: Entry; metadata: Metadata; by: 'time' | 'content' };
  /** The other place that a file of this path came from. */
  from?: string;
}

export type ReadableVersion = Version & { metadata: Metadata };

/** The versions of a path that can be opened, newest first by what is sealed into them. */
export async function versionsAt(
  szafa: Szafa,
  path: string,
  tree: Tree,
  signal: AbortSignal,
): Promise<ReadableVersion[]> {
  const nodes = [tree.file(path), tree.file(plainPath(path))];
  const entries = new Set(nodes.flatMap((node) => (node ? recordsOf(node) : [])));
  // An upload cannot repeat a file of another client, or one that does not open.
  const versions = await szafa.versions([...entries], { signal });
  return versions.filter((version): version is ReadableVersion => version.metadata?.name === path);
}

/** The path that the server would show if the name is not sealed. */
function plainPath(path: string): string {
  const below = path.slice(path.indexOf('/') + 1);
  return path.slice(0, path.length - below.length) + (plainNameOf(below) ?? below);
}

/**
 * Finds the version that an upload would repeat. Compares only with the newest from this source or from an unknown one: a file that
 * went back to an older state is a new version. Size and time are enough if the source is the same. Otherwise the content decides, since
 * folders of one name merge, and a program may write many files with one time; with `checksum` it always decides. `origin`: as it is
 * sealed into the metadata, see `sealedSource`.
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
    if (!isApiError || (error as ApiError).status !== 404) throw error; // 404: removed in the meantime
  }
  return found;
}
