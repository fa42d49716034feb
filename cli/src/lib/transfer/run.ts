import { join } from 'node:path';
import { DEFAULT_VOLUME_SIZE, fileJournal } from '@szafa/client/node';
import type { Invocation } from '../../command.ts';
import type { Output } from '../print/output.ts';
import { parseCount } from '../print/quantities.ts';
import { formatBytes, formatDuration, plural } from '../print/text.ts';
import { Progress } from './progress.ts';

const FEWEST_TRANSFERS = 4;
const MOST_TRANSFERS = 64;
/** Target for the total size of the files in transfer at once. Ignored with --transfers. */
const BYTES_AT_ONCE = 64 * 1024 * 1024;
/** Volumes at once, of all files together. */
const VOLUMES = 16;

/** Most files at once. */
export function maxTransfers({ flags: { transfers } }: Pick<Invocation, 'flags'>): number {
  return transfers === undefined ? MOST_TRANSFERS : parseCount('transfers', transfers, MOST_TRANSFERS);
}

/** How many files, and volumes of each file, to transfer at once: many files if they are small, because those mostly wait for the server. */
export function concurrencyFor(invocation: Pick<Invocation, 'flags'>, files: readonly { size: number }[]) {
  const count = Math.max(1, files.length);
  const mean = files.reduce((sum, { size }) => sum + size, 0) / count;
  const fitting = Math.max(FEWEST_TRANSFERS, Math.floor(BYTES_AT_ONCE / Math.max(1, mean)));
  const isGiven = invocation.flags.transfers !== undefined;
  const atOnce = Math.min(maxTransfers(invocation), count, isGiven ? count : fitting);
  const large = files.filter(({ size }) => size > DEFAULT_VOLUME_SIZE).length;
  const each = Math.floor(VOLUMES / Math.max(1, Math.min(atOnce, large)));
  return { files: atOnce, volumes: Math.max(1, Math.min(4, each)) };
}

/** Prints the last line of a command that transferred several files. */
export function summarize(out: Output, verb: string, totals: TransferRun['totals'], began: number): void {
  const { files, bytes, skipped } = totals;
  const seconds = (performance.now() - began) / 1000;
  const there = skipped > 0 ? `, ${skipped} already there` : '';
  // The time of a dry run is of no interest.
  const time = verb.startsWith('would') ? '' : ` in ${formatDuration(seconds)}`;
  const text = `${verb} ${plural(files, 'file')}, ${formatBytes(bytes)}${time}${there}`;
  const fields = { files, bytes, skipped, seconds: Math.round(seconds * 1000) / 1000 };
  if (out.json || files + skipped > 1) out.done('summary', fields, text);
}

/** Progress and totals of a command that transfers files. */
export class TransferRun implements Disposable {
  readonly invocation: Invocation;
  readonly progress: Progress;
  readonly journal: ReturnType<typeof openJournal>;
  readonly concurrency: ReturnType<typeof concurrencyFor>;
  /** `skipped` counts files that were already there. */
  readonly totals = { files: 0, bytes: 0, skipped: 0 };

  /** Create it only after the last question: progress bars would overwrite a prompt. */
  constructor(invocation: Invocation, files: readonly { size: number }[]) {
    this.invocation = invocation;
    this.concurrency = concurrencyFor(invocation, files);
    this.journal = openJournal(invocation);
    this.progress = new Progress(invocation.out);
    this.progress.expect(files);
  }

  [Symbol.dispose](): void {
    this.progress.close();
  }

  /** Counts a file that was transferred. */
  count(bytes: number): void {
    this.totals.files++;
    this.totals.bytes += bytes;
  }

  /** Prints a summary such as "put 3 files", or "would put 3 files" in a dry run. */
  finish(done: string, planned = done): void {
    this.progress.close();
    const { out, flags, began } = this.invocation;
    summarize(out, flags['dry-run'] ? planned : done, this.totals, began);
  }
}

export function openJournal({ settings }: Pick<Invocation, 'settings'>) {
  return fileJournal(join(settings.config, 'journal'));
}
