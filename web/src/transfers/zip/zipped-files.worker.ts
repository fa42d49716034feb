import { type DownloadProgress, leadsWithin } from '@szafa/client';
import type { Zip } from '../../core/bridge/calls.ts';
import type { Pieces } from '../../core/tasks.worker.ts';
import type { ReadableFile } from '../file-opener.worker.ts';
import { type ZipEntry, ZipPaths, zip } from './zip.worker.ts';

/** Small files come whole with their header, so that as many are on their way at once. */
const AHEAD = 6;

type Open = (fileId: string, signal: AbortSignal) => Promise<ReadableFile>;

async function* nothing(): AsyncGenerator<Uint8Array, void> {}

/** Targets that some system takes for an absolute path, or cannot represent. */
const NO_TARGET = /^$|[\\:\0]/;

/** Excludes links that lead out of the zip, through which unpacking could write anywhere. */
const isSafe = (path: string, target: string) => !NO_TARGET.test(target) && leadsWithin(path, target);

function linkEntry(path: string, link: string, mtime: number): ZipEntry {
  const target = new TextEncoder().encode(link);
  return {
    ...{ path, mtime, isLink: true, size: target.length },
    async *pieces() {
      yield target;
    },
  };
}

/** Each is opened a few before its turn; the first that cannot be opened ends it. */
async function* opened(
  parts: Zip['parts'],
  open: Open,
  signal: AbortSignal,
): AsyncGenerator<[ReadableFile | undefined, string], void> {
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  const coming: Promise<ReadableFile | undefined>[] = [];
  let next = 0;
  try {
    for (const { path } of parts) {
      for (; next < parts.length && coming.length < AHEAD; next++) {
        const { fileId } = parts[next]!;
        const remote = fileId === undefined ? Promise.resolve(undefined) : open(fileId, either);
        remote.catch(() => {}); // awaited below, in its turn
        coming.push(remote);
      }
      yield [await coming.shift()!, path];
    }
  } finally {
    stop.abort();
  }
}

/** The files as one zip, each verified before its last bytes are passed on. `tell` hears about the bytes of files in it, `onLeftOut` about each link that is not. */
export function zippedFiles(
  { parts }: Zip,
  open: Open,
  signal: AbortSignal,
  tell: (progress: DownloadProgress) => void,
  onLeftOut: () => void,
): Pieces {
  const paths = new ZipPaths();
  let before = 0;
  async function* entries(): AsyncGenerator<ZipEntry, void> {
    // Last: no file is unpacked through one, whatever a disk takes for the same name.
    const links: ZipEntry[] = [];
    for await (const [remote, path] of opened(parts, open, signal)) {
      if (!remote) {
        yield { path: paths.of(path), size: 0, mtime: Date.now(), pieces: nothing };
        continue;
      }
      const { mtime, added, size, link } = remote.metadata;
      const onProgress = ({ done }: DownloadProgress) =>
        tell({ done: before + done, total: Number.POSITIVE_INFINITY });
      const changed = mtime ?? added ?? Date.now();
      if (link !== undefined) {
        const inside = paths.of(path);
        if (isSafe(inside, link)) links.push(linkEntry(inside, link, changed));
        else onLeftOut();
        continue;
      }
      const pieces = () => remote.pieces({ signal, onProgress });
      yield { path: paths.of(path), size, mtime: changed, pieces };
      before += size;
    }
    yield* links;
  }
  return zip(entries());
}
