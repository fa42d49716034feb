import type { Entry } from '@szafa/client/node';
import type { Batch } from './batch.ts';
import type { Invocation } from './command.ts';
import { CliError } from './errors.ts';
import type { Lookup } from './lookup.ts';
import type { Output } from './output.ts';
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
      if (signal.aborted || !(error instanceof CliError)) throw error;
      batch.fail(error, arg);
    }
  }
  return [...chosen.values()];
}

/** The newest of each name; what is left out is said. */
export function newestOnly(entries: Entry[], out: Output): Entry[] {
  const names = new Set<string>();
  return entries.filter(({ name, fileId }) => {
    const first = !names.has(name);
    names.add(name);
    if (!first) {
      const message = `an older ${oneLine(name)} is left out (${fileId})`;
      out.note('older-version', message, { name, file_id: fileId });
    }
    return first;
  });
}
