import type { Metadata } from '@szafa/format';
import { ApiError, SzafaError, UnsupportedError } from '../../errors.ts';
import type { Entry } from '../../files/listing.ts';
import { newestFirst, tieOf } from '../../files/newest.ts';
import { forEach } from '../../pool.ts';
import { describe, type OpenContext } from './remote-file.ts';

/** One of several files of a name, opened as far as its header. @public */
export interface Version {
  entry: Entry;
  /** Absent for a file of another client, and where there is a problem. */
  metadata?: Metadata;
  /** Why it may not be taken: changed, under another key, or another file than its name says. */
  problem?: SzafaError;
}

const PARALLEL = 8;
const DAY_MS = 86_400_000;

/** Uploaded at a time that has not come yet: a clock is wrong, here or where it was uploaded. @public */
export function isAhead({ added }: Pick<Metadata, 'added'>, now = Date.now()): boolean {
  return added > now + DAY_MS;
}

/**
 * The entries, newest first by what is sealed into each: order and times of the list are the service's word. It can
 * still withhold the newest. Files of other clients come after ours, as the list has them; those with a problem are last.
 * What was removed meanwhile is left out.
 */
export async function versionsOf(
  context: OpenContext,
  entries: readonly Entry[],
  signal?: AbortSignal,
): Promise<Version[]> {
  const [only] = entries;
  if (only && entries.length === 1) {
    // Most have one version, and there may be thousands of them.
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
  /** `gen`; below zero where there is none. */
  gen: number;
  added: number;
  /** Of two uploads at the same millisecond every device takes the same one. */
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
