/** Removes duplicates: if two machines upload a file at the same time, neither sees the other's copy, and both upload it. */
import { isDeepStrictEqual } from 'node:util';
import type { Metadata, Source } from '@szafa/client/node';
import { fileSource, forEach, recordsOf, SzafaError, sameContent } from '@szafa/client/node';
import { plural } from '../../print/text.ts';
import { type ReadableVersion, versionsAt } from '../../select/existing.ts';
import { createLookup } from '../../select/lookup.ts';
import type { PlannedFile } from '../../select/plan.ts';
import type { Put } from './context.ts';
import { NO_BYTES } from './send.ts';

const PARALLEL = 4;

/** Lists all uploaded paths again, which now includes uploads from other devices. */
export async function removeDuplicates(put: Put): Promise<void> {
  const { szafa, uploaded, run } = put;
  const { out, batch, signal } = run.invocation;
  const lookup = createLookup(szafa, signal);
  const look = async (file: PlannedFile) => {
    const tree = await lookup.near(file.to);
    const node = tree.file(file.to);
    if (!node || recordsOf(node).length < 2) return;
    await removeDuplicatesOf(put, file, await versionsAt(szafa, file.to, tree, signal));
  };
  if (!batch.stopped) await tolerate(signal, () => forEach(uploaded, PARALLEL, look));
  if (put.duplicates === 0) return;
  const message = `another device uploaded ${plural(put.duplicates, 'file')} of these at the same time; the second copies were removed`;
  out.note('duplicates', message, { files: put.duplicates });
}

/**
 * Removes versions that were uploaded concurrently and are equal to the newest in metadata and content. All devices agree on which
 * version is the newest and never remove it, so it survives even if several devices do this at once.
 */
export async function removeDuplicatesOf(
  put: Put,
  file: PlannedFile,
  versions: ReadableVersion[],
): Promise<void> {
  const { szafa, run } = put;
  const { signal, flags } = run.invocation;
  const [newest, ...others] = versions;
  const repeated = others.filter(({ metadata }) => isRepeated(metadata, newest!.metadata));
  if (repeated.length === 0 || flags['dry-run']) return;
  await tolerate(signal, async () => {
    const source = file.kind === 'link' ? NO_BYTES : await fileSource(file.path);
    try {
      for (const version of repeated) {
        // Check the newest last: it must still exist when the other one is removed.
        if (!(await holds(put, version, source)) || !(await holds(put, newest!, source))) return;
        await szafa.remove(version.entry.fileId, { signal });
        put.duplicates++;
      }
    } finally {
      await source.close?.();
    }
  });
}

/**
 * Whether two versions differ only in who uploaded them and when. An equal `gen` means that they were uploaded concurrently. A shared
 * version is kept, because its links need it.
 */
function isRepeated(one: Metadata, other: Metadata): boolean {
  if (one.shared) return false;
  const described = (metadata: Metadata) => {
    const { added: _, source: __, rev: ___, thumbnail: ____, hardlink: _____, ...rest } = metadata;
    return rest;
  };
  return isDeepStrictEqual(described(one), described(other));
}

async function holds({ szafa, run }: Put, { entry }: ReadableVersion, source: Source): Promise<boolean> {
  const { signal } = run.invocation;
  const remote = await szafa.openFile(entry.fileId, { record: entry.record, headOnly: true, signal });
  return sameContent(remote, source, signal);
}

/** Ignores failures, such as a token that may not delete: the files are stored, and the next put tries again. */
async function tolerate(signal: AbortSignal, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    signal.throwIfAborted();
    const isSystem = typeof (error as NodeJS.ErrnoException).syscall === 'string';
    if (!isSystem && !(error instanceof SzafaError)) throw error;
  }
}
