import type { Invocation } from './command.ts';
import type { Output } from './output.ts';
import { parseCount } from './quantities.ts';
import { formatBytes, formatDuration, plural } from './text.ts';

const DEFAULT_TRANSFERS = 16;
const MOST_TRANSFERS = 64;
/** Volumes on their way, over all files. */
const VOLUMES = 16;

export function transfersOf({ flags }: Invocation): number {
  return flags.transfers === undefined
    ? DEFAULT_TRANSFERS
    : parseCount('transfers', flags.transfers, MOST_TRANSFERS);
}

/** Volumes at once for each of several files. */
export function volumesAtOnce(files: number): number {
  return Math.max(1, Math.min(4, Math.floor(VOLUMES / Math.max(1, files))));
}

export interface Tally {
  /** Files that were moved. */
  files: number;
  bytes: number;
  /** Files that were there already. */
  skipped: number;
}

/** The last line of a command that moved several files. */
export function summarize(out: Output, verb: string, { files, bytes, skipped }: Tally, began: number): void {
  const seconds = (performance.now() - began) / 1000;
  const there = skipped > 0 ? `, ${skipped} already there` : '';
  const text = `${verb} ${plural(files, 'file')}, ${formatBytes(bytes)} in ${formatDuration(seconds)}${there}`;
  const fields = { files, bytes, skipped, seconds: Math.round(seconds * 1000) / 1000 };
  if (out.json || files + skipped > 1) out.done('summary', fields, text);
}
