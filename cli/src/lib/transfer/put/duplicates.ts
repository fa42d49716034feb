/** Two machines may upload the same file at the same time: each looks before the other is done, so both upload it. */
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

/** Looks again at the paths of all uploaded files, now that the files of other devices are listed too. */
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
 * Of versions that were uploaded without knowing of each other, with the same metadata and the content of the local file, keeps the
 * newest. All devices agree on which is the newest, and remove a version only while a newer one is listed. So however many do this
 * at once, the newest stays.
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
        // The newest last: it must exist when the other one is removed.
        if (!(await holds(put, version, source)) || !(await holds(put, newest!, source))) return;
        await szafa.remove(version.entry.fileId, { signal });
        put.duplicates++;
      }
    } finally {
      await source.close?.();
    }
  });
}

/** Equal in all but who uploaded it and when; an equal `gen` says that neither knew of the other. A shared version stays: its links lead to it alone. */
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

/** Ignores failures: the files are stored, and the next put tries again. A token may not be allowed to delete or to read. */
async function tolerate(signal: AbortSignal, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    signal.throwIfAborted();
    const isSystem = typeof (error as NodeJS.ErrnoException).syscall === 'string';
    if (!isSystem && !(error instanceof SzafaError)) throw error;
  }
}
