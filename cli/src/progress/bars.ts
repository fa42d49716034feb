import { formatBytes, formatDuration, oneLine, padEnd, plural, shorten } from '../text.ts';
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

type Fields = [size: string, rate: string, left: string];

/** Columns that stay where they are from one drawing to the next. */
function line(name: string, part: number, [size, rate, left]: Fields, columns: number): string {
  const barColumns = columns >= 100 ? 20 : columns >= 64 ? 10 : 0;
  const drawn = barColumns > 0 ? ` ${bar(part, barColumns)}` : '';
  const rest = `${drawn} ${percentOf(part)} ${size.padStart(10)} ${rate.padStart(12)} ${left.padStart(11)}`;
  const nameColumns = Math.max(8, Math.min(48, columns - 1 - rest.length));
  return shorten(`${padEnd(shorten(name, nameColumns), nameColumns)}${rest}`, Math.max(8, columns - 1));
}

const rateText = (rate: number) => (rate > 0 ? `${formatBytes(Math.round(rate))}/s` : '');

function trackLine(track: Track, columns: number): string {
  const part = track.total > 0 ? track.done / track.total : 0;
  const { rate } = track.meter;
  const left = rate > 0 ? formatDuration((track.total - track.done) / rate) : '';
  const preparing = track.phase === 'prepare';
  const size = formatBytes(track.total);
  const fields: Fields = preparing ? [size, 'preparing', ''] : [size, rateText(rate), left];
  return line(oneLine(track.name), part, fields, columns);
}

/** A bar for each file that takes its time, and one for the whole. */
export function drawBars(progress: Tally, columns: number, rows: number): string[] {
  const now = progress.clock();
  const old = [...progress.tracks].filter((track) => now - track.began >= YOUNG_MS);
  const most = Math.max(0, Math.min(MOST_TRACKS, rows - 2));
  const part = progress.bytes > 0 ? progress.bytesDone / progress.bytes : 0;
  const { rate } = progress.meter;
  const left = rate > 0 ? formatDuration(progress.secondsLeft) : '';
  const fields: Fields = [formatBytes(progress.bytes), rateText(rate), left];
  const whole = line(`${progress.filesDone} of ${plural(progress.files, 'file')}`, part, fields, columns);
  return [...old.slice(0, most).map((track) => trackLine(track, columns)), whole];
}
