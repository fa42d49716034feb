import { type Entry, isAhead, type RemoteFile, type Szafa } from '@szafa/client/node';
import type { Batch } from './batch.ts';
import type { Invocation } from './command.ts';
import { isFatal } from './explain.ts';
import { type Lookup, verifiedFirst } from './lookup.ts';
import { oneLine } from './text.ts';

/** The files that `get` and `check` work on: those named, or all of a directory, or all. */
export async function chooseFiles(lookup: Lookup, invocation: Invocation, batch: Batch): Promise<Entry[]> {
  const { args, flags, out, signal } = invocation;
  const { dir } = flags;
  if (args.length === 0) return lookup.list(dir === undefined ? undefined : await lookup.dirId(dir));
  const chosen = new Map<string, Entry>();
  for (const arg of args) {
    try {
      const entry = await lookup.file(arg, dir, 'newest', out);
      chosen.set(entry.fileId, entry);
    } catch (error) {
      if (signal.aborted || isFatal(error)) throw error;
      batch.fail(error, arg);
    }
  }
  return [...chosen.values()];
}

/** The newest of each name; what is left out is said, and what cannot be told is a failure. */
export async function newestOnly(szafa: Szafa, entries: Entry[], invocation: Invocation, batch: Batch) {
  const { out, signal } = invocation;
  const names = Map.groupBy(entries, ({ name }) => name);
  const several = [...names.values()]
    .filter((group) => group.length > 1)
    .map((group) => verifiedFirst(group, out));
  const versions = await szafa.versions(several.filter((group) => group.length > 1).flat(), { signal });
  const contested = new Map(several.map(([first]) => [first!.name, first!]));
  for (const [name, [newest, ...older]] of Map.groupBy(versions, ({ entry }) => entry.name)) {
    contested.set(name, newest!.entry);
    for (const { entry, problem } of older) {
      if (problem) {
        batch.fail(problem, name);
        continue;
      }
      const message = `skipping an older ${oneLine(name)} (${entry.fileId})`;
      out.note('older-version', message, { name, file_id: entry.fileId });
    }
  }
  return entries.filter((entry) => (contested.get(entry.name) ?? entry) === entry);
}

/** Opens a chosen file. A name in the list that belongs to another file is as bad as a wrong volume. */
export async function openChosen(
  szafa: Szafa,
  { fileId, record, problem }: Entry,
  { out, signal }: Invocation,
): Promise<RemoteFile> {
  if (problem) throw problem;
  const remote = await szafa.openFile(fileId, { record, signal });
  const { metadata } = remote;
  if (isAhead(metadata)) {
    const message = `${oneLine(metadata.name)} has a time more than a day in the future: is a clock wrong?`;
    out.note('ahead', message, { name: metadata.name, file_id: fileId, added: metadata.added });
  }
  return remote;
}
