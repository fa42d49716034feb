import { formatBytes, formatDuration, oneLine, padEnd, plural, shorten } from '../../print/text.ts';
import type { Tally, Track } from './tally.ts';

const MOST_TRACKS = 8;
/** Files that are done in a blink get no bar: it could not be read. */
const YOUNG_MS = 300;

function bar(part: number, columns: number): string {
  const full = Math.max(0, Math.min(columns, Math.round(part * columns)));
  return `[${'#'.repeat(full)}${'-'.repeat(columns - full)}]`;
}

function percentOf(part: number): string {
  return `${String(Math.floor(Math.min(1, part) * 100)).padStart(3)} %`;
}

/** Undefined where the whole is not known. */
function partOf(done: number, total: number | undefined): number | undefined {
  if (total === undefined) return undefined;
  return total > 0 ? done / total : 0;
}

type Fields = [size: string, rate: string, left: string];

/** Columns that stay where they are from one drawing to the next. */
function line(name: string, part: number | undefined, [size, rate, left]: Fields, columns: number): string {
  const barColumns = columns >= 100 ? 20 : columns >= 64 ? 10 : 0;
  const drawn = barColumns > 0 ? ` ${bar(part ?? 0, barColumns)}` : '';
  const percent = part === undefined ? '     ' : percentOf(part);
  const rest = `${drawn} ${percent} ${size.padStart(10)} ${rate.padStart(12)} ${left.padStart(11)}`;
  const nameColumns = Math.max(8, Math.min(48, columns - 1 - rest.length));
  return shorten(`${padEnd(shorten(name, nameColumns), nameColumns)}${rest}`, Math.max(8, columns - 1));
}

const rateText = (rate: number) => (rate > 0 ? `${formatBytes(Math.round(rate))}/s` : '');

function trackLine({ name, done, total, meter }: Track, columns: number): string {
  const { rate } = meter;
  const left = rate > 0 && total !== undefined ? formatDuration((total - done) / rate) : '';
  const fields: Fields = [formatBytes(total ?? done), rateText(rate), left];
  return line(oneLine(name), partOf(done, total), fields, columns);
}

/** A bar for each file that takes its time, and one for the whole. */
export function drawBars(progress: Tally, columns: number, rows: number): string[] {
  const now = progress.clock();
  const old = [...progress.tracks].filter((track) => now - track.began >= YOUNG_MS);
  const most = Math.max(0, Math.min(MOST_TRACKS, rows - 2));
  const part = partOf(progress.bytesDone, progress.total);
  const { rate } = progress.meter;
  const { total = progress.bytesDone, secondsLeft } = progress;
  const left = Number.isFinite(secondsLeft) ? formatDuration(secondsLeft) : '';
  const fields: Fields = [formatBytes(total), rateText(rate), left];
  const whole = line(`${progress.filesDone} of ${plural(progress.files, 'file')}`, part, fields, columns);
  return [...old.slice(0, most).map((track) => trackLine(track, columns)), whole];
}
