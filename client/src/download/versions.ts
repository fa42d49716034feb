import { ApiError, SzafaError, UnsupportedError } from '../errors.ts';
import type { Metadata } from '../format/metadata.ts';
import type { Entry } from '../listing.ts';
import { forEach } from '../pool.ts';
import { type OpenContext, openFile } from './remote-file.ts';

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
export function isAhead({ added }: Metadata, now = Date.now()): boolean {
  return added !== undefined && added > now + DAY_MS;
}

/**
 * The entries, newest first by the time sealed into each: order and times of the list are the service's word. It can
 * still withhold the newest. Files without a sealed time come after those with one, files of other clients after
 * these, both as the list has them; those with a problem are last. What was removed meanwhile is left out.
 */
export async function versionsOf(
  context: OpenContext,
  entries: readonly Entry[],
  signal?: AbortSignal,
): Promise<Version[]> {
  const found: (Ranked | undefined)[] = [];
  await forEach(entries.entries(), PARALLEL, async ([at, entry]) => {
    found[at] = await rank(context, entry, signal);
  });
  const ranked = found.filter((one) => one !== undefined);
  return ranked.toSorted(newestFirst).map(({ version }) => version);
}

interface Ranked {
  version: Version;
  /** Sealed time; below zero where there is none. */
  time: number;
  /** Of two uploads at the same millisecond every device takes the same one. */
  tie: string;
}

const WITHOUT_TIME = -1;
const FOREIGN = -2;
const BROKEN = -3;

async function rank(context: OpenContext, entry: Entry, signal?: AbortSignal): Promise<Ranked | undefined> {
  const { record, fileId } = entry;
  try {
    const { header } = await openFile(context, fileId, { record, signal, headOnly: true });
    const { metadata } = header;
    const time = metadata.added ?? WITHOUT_TIME;
    return { version: { entry, metadata }, time, tie: time < 0 ? '' : header.fileId.toHex() };
  } catch (error) {
    if (!(error instanceof SzafaError) || error.code === 'network') throw error;
    if (error instanceof ApiError && error.status === 404) return undefined;
    const foreign = error instanceof UnsupportedError && error.stage === 'params' && !entry.verified;
    if (foreign) return { version: { entry }, time: FOREIGN, tie: '' };
    if (error instanceof ApiError) throw error;
    return { version: { entry, problem: error }, time: BROKEN, tie: '' };
  }
}

function newestFirst(a: Ranked, b: Ranked): number {
  if (a.time !== b.time) return b.time - a.time;
  return a.tie === b.tie ? 0 : a.tie < b.tie ? 1 : -1;
}
