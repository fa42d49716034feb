/** Two machines that upload the same file at the same time: each looks before the other has ended, so both upload it. */
import { isDeepStrictEqual } from 'node:util';
import {
  fileSource,
  forEach,
  type Metadata,
  recordsOf,
  type Source,
  SzafaError,
  sameContent,
} from '@szafa/client/node';
import { plural } from '../../print/text.ts';
import { type Opened, versionsAt } from '../../select/existing.ts';
import { Lookup } from '../../select/lookup.ts';
import type { Planned } from '../../select/plan.ts';
import type { Put } from './context.ts';
import { NOTHING } from './send.ts';

const PARALLEL = 4;

/** Looks once more at the paths of all files that were uploaded, now that the files of others are listed too. */
export async function removeDuplicates(put: Put): Promise<void> {
  const { szafa, uploaded, batch, invocation } = put;
  const { out, signal } = invocation;
  const lookup = new Lookup(szafa, signal);
  const look = async (file: Planned) => {
    const tree = await lookup.near(file.to);
    const node = tree.file(file.to);
    if (!node || recordsOf(node).length < 2) return;
    await removeDuplicatesOf(put, file, await versionsAt(szafa, file.to, tree, signal));
  };
  if (!batch.stopped) await quietly(signal, () => forEach(uploaded, PARALLEL, look));
  if (put.duplicates === 0) return;
  const message = `another device uploaded ${plural(put.duplicates, 'file')} of these at the same time; the second copies were removed`;
  out.note('duplicates', message, { files: put.duplicates });
}

/**
 * Of versions that were uploaded without knowing of each other, with the same metadata and the content that the file
 * has here, keeps the newest. Every device takes the same one for the newest, and removes a version only while a newer
 * one is listed. So however many do this at the same time, the newest stays.
 */
export async function removeDuplicatesOf(put: Put, file: Planned, versions: Opened[]): Promise<void> {
  const { szafa, invocation } = put;
  const { signal, flags } = invocation;
  const [newest, ...others] = versions;
  const repeated = others.filter(({ metadata }) => isRepeated(metadata, newest!.metadata));
  if (repeated.length === 0 || flags['dry-run']) return;
  await quietly(signal, async () => {
    const source = file.kind === 'link' ? NOTHING : await fileSource(file.path);
    try {
      for (const version of repeated) {
        // The newest last: it must be there when the other one goes.
        if (!(await holds(put, version, source)) || !(await holds(put, newest!, source))) return;
        await szafa.remove(version.entry.fileId, { signal });
        put.duplicates++;
      }
    } finally {
      await source.close?.();
    }
  });
}

/** Equal in all but who uploaded it and when. An equal `gen` says that neither knew of the other. A shared version stays: its links lead to it alone. */
function isRepeated(one: Metadata, other: Metadata): boolean {
  if (one.shared) return false;
  const described = (metadata: Metadata) => {
    const { added: _, source: __, rev: ___, thumbnail: ____, hardlink: _____, ...rest } = metadata;
    return rest;
  };
  return isDeepStrictEqual(described(one), described(other));
}

async function holds({ szafa, invocation }: Put, { entry }: Opened, source: Source): Promise<boolean> {
  const { signal } = invocation;
  const remote = await szafa.openFile(entry.fileId, { record: entry.record, headOnly: true, signal });
  return sameContent(remote, source, signal);
}

/** The files are stored: what fails here is left to the next put. A token that may not delete, or not read, leaves it as it is. */
async function quietly(signal: AbortSignal, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    signal.throwIfAborted();
    const isSystem = typeof (error as NodeJS.ErrnoException).syscall === 'string';
    if (!isSystem && !(error instanceof SzafaError)) throw error;
  }
}
