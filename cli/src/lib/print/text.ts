/** Control characters, and characters that reverse, join or hide text. Stricter than the SDK's `displayName`, without loading the SDK. */
const UNSHOWABLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029]/gu;
const WIDE =
  /^[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]$/u;
const ZERO = /^[\p{Mn}\p{Me}]$/u;

/** Makes text safe to print: one line without terminal control sequences. Use it for all text that others may have written. */
export function oneLine(text: string): string {
  return text.toWellFormed().replace(UNSHOWABLE, '\ufffd');
}

/** Formats JSON that is safe to print: control characters are escaped, so nothing is lost. */
export function jsonLine(value: unknown): string {
  const unit = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(value).replace(UNSHOWABLE, (char) => char.split('').map(unit).join(''));
}

function charWidth(char: string): number {
  if (ZERO.test(char)) return 0;
  return WIDE.test(char) ? 2 : 1;
}

/** Width in terminal columns. */
export function width(text: string): number {
  let columns = 0;
  for (const char of text) columns += charWidth(char);
  return columns;
}

/** Cuts out the middle of a long text, because names often differ at their end. */
export function shorten(text: string, most: number): string {
  if (width(text) <= most) return text;
  const chars = Array.from(text);
  const half = Math.floor((most - 1) / 2);
  const take = (from: Iterable<string>, room: number) => {
    const taken: string[] = [];
    for (const char of from) {
      room -= charWidth(char);
      if (room < 0) break;
      taken.push(char);
    }
    return taken;
  };
  const head = take(chars, most - 1 - half);
  const tail = take(chars.toReversed(), half).reverse();
  return `${head.join('')}…${tail.join('')}`;
}

export function padEnd(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - width(text)));
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1023.95 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? value : value.toFixed(value < 10 ? 2 : 1)} ${UNITS[unit]}`;
}

export function formatDuration(seconds: number): string {
  if (!Number.isFinite(seconds)) return '-';
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${String(whole % 60).padStart(2, '0')} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48
    ? `${hours} h ${String(minutes % 60).padStart(2, '0')} min`
    : `${Math.round(hours / 24)} days`;
}

/** Formats a time in the local time zone, to the minute. */
export function formatTime(iso: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return oneLine(iso).slice(0, 16).padEnd(16);
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** Strips leading and trailing slashes from a typed server path. */
export function typedPath(text: string): string {
  return text.replace(/^\/+|\/+$/g, '');
}

/** Quotes and shortens a path for a message. */
export const shownName = (name: string) => `"${shorten(oneLine(name), 120)}"`;
