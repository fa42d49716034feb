/** Finds the newest of files with the same path, `gen` and `added`. Their order is only in their headers. */

import { ApiError, SzafaError } from '../errors.ts';
import { forEach } from '../pool.ts';
import type { OpenContext } from '../transfers/download/context.ts';
import { describe } from '../transfers/download/open-file.ts';
import type { Entry } from './listing.ts';
import { tieOf } from './newest.ts';
import { pathIn } from './tree.ts';

const PARALLEL = 8;
/** Sorts above any id: a file that does not open may be the newest, and must not be hidden. */
const UNKNOWN = '~';

/** Sets `age.tie` of files that need one. Usually there are none, and no request is made. */
export async function breakTies(
  context: OpenContext,
  entries: readonly Entry[],
  signal?: AbortSignal,
): Promise<void> {
  const tied: Entry[] = [];
  for (const same of samePaths(entries)) {
    const byAge = Map.groupBy(same, ({ age }) => `${age!.gen} ${age!.added}`);
    for (const equal of byAge.values()) if (equal.length > 1) tied.push(...equal);
  }
  await forEach(tied, PARALLEL, async (entry) => {
    try {
      const { fileId } = await describe(context, entry.record, signal);
      entry.age!.tie = tieOf(fileId, entry.record);
    } catch (error) {
      if (!(error instanceof SzafaError) || error.code === 'network') throw error;
      // The file was removed after it was listed, so it is not the newest.
      if (error instanceof ApiError && error.kind === 'not-found') return;
      if (error instanceof ApiError) throw error;
      entry.age!.tie = UNKNOWN;
      entry.problem ??= error;
    }
  });
}

/** Groups files with verified names by path, and yields the groups with several files. */
function* samePaths(entries: readonly Entry[]): Generator<Entry[]> {
  const first = new Map<string, Entry>();
  const several = new Map<string, Entry[]>();
  for (const entry of entries) {
    if (!entry.age) continue;
    const path = pathIn(entry);
    const before = first.get(path);
    if (!before) first.set(path, entry);
    else if (several.has(path)) several.get(path)!.push(entry);
    else several.set(path, [before, entry]);
  }
  yield* several.values();
}
