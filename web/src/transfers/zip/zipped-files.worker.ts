import { type DownloadProgress, leadsWithin } from '@szafa/client';
import type { Zip } from '../../core/bridge/calls.ts';
import type { Pieces } from '../../core/tasks.worker.ts';
import type { ReadableFile } from '../file-opener.worker.ts';
import { type ZipEntry, ZipPaths, zip } from './zip.worker.ts';

/** Number of files opened in advance. Opening fetches a small file whole, so this many download at the same time. */
const AHEAD = 6;

type Open = (fileId: string, signal: AbortSignal) => Promise<ReadableFile>;

async function* nothing(): AsyncGenerator<Uint8Array, void> {}

/** Link targets that some systems treat as absolute paths or cannot represent. */
const NO_TARGET = /^$|[\\:\0]/;

/** Excludes links that point outside the zip: unpacking through one could write anywhere. */
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

/** Opens files a few places in advance. Throws at the first one that cannot be opened. */
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

/**
 * Yields the files as one zip. Each file is verified before its last bytes are passed on. `tell` gets the bytes done;
 * `onLeftOut` is called for each link that is left out.
 */
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
    // Links come last, so that no file is unpacked through one, whichever names a disk treats as equal.
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
