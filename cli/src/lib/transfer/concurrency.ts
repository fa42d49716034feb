import { DEFAULT_VOLUME_SIZE } from '@szafa/client/node';
import type { Invocation } from '../../command.ts';
import type { Output } from '../print/output.ts';
import { parseCount } from '../print/quantities.ts';
import { formatBytes, formatDuration, plural } from '../print/text.ts';

const FEWEST_TRANSFERS = 4;
const MOST_TRANSFERS = 64;
/** Bytes of the files that are on their way at once, where nothing else is asked for. */
const BYTES_AT_ONCE = 64 * 1024 * 1024;
/** Volumes on their way, over all files. */
const VOLUMES = 16;

/** Files at once, at most. */
export function transfersOf({ flags }: Invocation): number {
  return flags.transfers === undefined
    ? MOST_TRANSFERS
    : parseCount('transfers', flags.transfers, MOST_TRANSFERS);
}

export interface Lanes {
  /** Files at once: few large ones, many small ones, which mostly wait for the other side. */
  files: number;
  /** Volumes at once of each file. */
  volumes: number;
}

export function lanesFor(invocation: Invocation, files: readonly { size: number }[]): Lanes {
  const count = Math.max(1, files.length);
  const mean = files.reduce((sum, { size }) => sum + size, 0) / count;
  const fitting = Math.max(FEWEST_TRANSFERS, Math.floor(BYTES_AT_ONCE / Math.max(1, mean)));
  const asked = invocation.flags.transfers !== undefined;
  const lanes = Math.min(transfersOf(invocation), count, asked ? count : fitting);
  const large = files.filter(({ size }) => size > DEFAULT_VOLUME_SIZE).length;
  const each = Math.floor(VOLUMES / Math.max(1, Math.min(lanes, large)));
  return { files: lanes, volumes: Math.max(1, Math.min(4, each)) };
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
  // What would be done takes no time yet.
  const time = verb.startsWith('would') ? '' : ` in ${formatDuration(seconds)}`;
  const text = `${verb} ${plural(files, 'file')}, ${formatBytes(bytes)}${time}${there}`;
  const fields = { files, bytes, skipped, seconds: Math.round(seconds * 1000) / 1000 };
  if (out.json || files + skipped > 1) out.done('summary', fields, text);
}
