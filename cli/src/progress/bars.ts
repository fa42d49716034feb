import { formatBytes, formatDuration, oneLine, padEnd, shorten } from '../text.ts';
import type { Progress, Track } from './progress.ts';

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

function line(name: string, part: number, rest: string, columns: number): string {
  const barColumns = Math.max(4, Math.min(24, Math.floor(columns / 5)));
  const nameColumns = Math.max(8, Math.min(40, columns - barColumns - rest.length - 14));
  const text = `${padEnd(shorten(name, nameColumns), nameColumns)} ${bar(part, barColumns)} ${percentOf(part)}  ${rest}`;
  return shorten(text, Math.max(8, columns - 1));
}

function trackLine(track: Track, columns: number): string {
  const part = track.total > 0 ? track.done / track.total : 0;
  const { rate } = track.meter;
  const left = rate > 0 ? (track.total - track.done) / rate : Number.POSITIVE_INFINITY;
  const rest =
    track.phase === 'prepare'
      ? `preparing ${formatBytes(track.total)}`
      : `${formatBytes(track.total)}  ${formatBytes(Math.round(rate))}/s  ${formatDuration(left)}`;
  return line(oneLine(track.name), part, rest, columns);
}

/** A bar for each file that takes its time, and one for the whole. */
export function drawBars(progress: Progress, columns: number, rows: number): string[] {
  const now = progress.clock();
  const old = [...progress.tracks].filter((track) => now - track.began >= YOUNG_MS);
  const most = Math.max(0, Math.min(MOST_TRACKS, rows - 2));
  const part = progress.bytes > 0 ? progress.bytesDone / progress.bytes : 0;
  const { rate } = progress.meter;
  const rest = `${formatBytes(progress.bytesDone)} of ${formatBytes(progress.bytes)}  ${formatBytes(Math.round(rate))}/s  ${formatDuration(progress.secondsLeft)} left`;
  const whole = line(`${progress.filesDone} of ${progress.files} files`, part, rest, columns);
  return [...old.slice(0, most).map((track) => trackLine(track, columns)), whole];
}
