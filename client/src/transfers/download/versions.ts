import type { Metadata } from '@szafa/format';
import { ApiError, SzafaError, UnsupportedError } from '../../errors.ts';
import type { Entry } from '../../files/listing.ts';
import { newestFirst, tieOf } from '../../files/newest.ts';
import { forEach } from '../../pool.ts';
import type { OpenContext } from './context.ts';
import { describe } from './open-file.ts';

/** One of several files with the same path. @public */
export interface Version {
  entry: Entry;
  /** Absent for files of other clients, or if there is a problem. */
  metadata?: Metadata;
  /** Why the version must not be used: it was changed, sealed with another key, or has a wrong name. */
  problem?: SzafaError;
}

const PARALLEL = 8;
const DAY_MS = 86_400_000;

/** Whether the upload time is in the future: the clock of this or the uploading device is wrong. @public */
export function isAhead({ added }: Pick<Metadata, 'added'>, now = Date.now()): boolean {
  return added > now + DAY_MS;
}

/**
 * Sorts the entries of one path by their sealed metadata, newest first: order and times of the list are only the server's claim. The
 * server can still withhold the newest. Files of other clients come after ours, and files with a problem last. Skips removed files.
 */
export async function versionsOf(
  context: OpenContext,
  entries: readonly Entry[],
  signal?: AbortSignal,
): Promise<Version[]> {
  const [only] = entries;
  if (only && entries.length === 1) {
    // Shortcut for the usual case.
    const one = await rank(context, only, signal);
    return one ? [one.version] : [];
  }
  const found: (Ranked | undefined)[] = [];
  await forEach(entries.entries(), PARALLEL, async ([at, entry]) => {
    found[at] = await rank(context, entry, signal);
  });
  const ranked = found.filter((one) => one !== undefined);
  return ranked.toSorted(newestFirst).map(({ version }) => version);
}

interface Ranked {
  version: Version;
  /** The sealed `gen`, or a negative rank. */
  gen: number;
  added: number;
  /** Makes all devices order two uploads of the same millisecond alike. */
  tie: string;
}

const FOREIGN = -1;
const BROKEN = -2;

async function rank(context: OpenContext, entry: Entry, signal?: AbortSignal): Promise<Ranked | undefined> {
  const { record } = entry;
  try {
    const { metadata, fileId } = await describe(context, record, signal);
    const { gen, added } = metadata;
    return { version: { entry, metadata }, gen, added, tie: tieOf(fileId, record) };
  } catch (error) {
    if (!(error instanceof SzafaError) || error.code === 'network') throw error;
    if (error instanceof ApiError && error.status === 404) return undefined;
    const foreign = error instanceof UnsupportedError && error.stage === 'params' && !entry.verified;
    if (foreign) return { version: { entry }, gen: FOREIGN, added: 0, tie: '' };
    if (error instanceof ApiError) throw error;
    return { version: { entry, problem: error }, gen: BROKEN, added: 0, tie: '' };
  }
}
