import { UsageError } from '../../errors.ts';

const FACTORS: Record<string, number> = { '': 1, K: 1024, M: 1024 ** 2, G: 1024 ** 3, T: 1024 ** 4 };
const QUANTITY = /^(\d+(?:\.\d+)?)\s*([KMGT]?)(?:I?B)?$/i;

/** Parses a size. Units are powers of 1024: `8M`, `8MiB`, `8MB` and `8388608` are the same. */
export function parseSize(option: string, text: string, what = 'size'): number {
  const match = QUANTITY.exec(text.trim());
  const bytes = match ? Math.round(Number(match[1]) * FACTORS[(match[2] ?? '').toUpperCase()]!) : Number.NaN;
  if (!Number.isSafeInteger(bytes) || bytes < 1) {
    throw new UsageError(`--${option}: "${text}" is not a ${what}`, 'write it like 8M, 1.5G or 65536');
  }
  return bytes;
}

/** Parses bytes per second: a size, optionally followed by `/s`. */
export function parseRate(option: string, text: string): number {
  return parseSize(option, text.trim().replace(/\/s$/i, ''), 'rate');
}

export function parseCount(option: string, text: string, most: number): number {
  const count = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (!(count >= 1 && count <= most)) {
    throw new UsageError(
      `--${option}: "${text}" is not a number from 1 to ${most}`,
      `write it like --${option} 4`,
    );
  }
  return count;
}

const HOURS: Record<string, number> = { h: 1, d: 24, w: 7 * 24, y: 365 * 24 };

/** Parses `12h`, `30d`, `4w` or `1y` into milliseconds. */
function longTime(text: string): number | undefined {
  const match = /^(\d{1,4})\s*(h|d|w|y)$/i.exec(text.trim());
  return match ? Number(match[1]) * HOURS[match[2]!.toLowerCase()]! * 3_600_000 : undefined;
}

/** Parses an age into milliseconds. */
export function parseAge(option: string, text: string): number {
  const age = longTime(text);
  if (age !== undefined) return age;
  throw new UsageError(
    `--${option}: "${text}" is not an age`,
    `write it like --${option} 30d; h, d, w and y are hours, days, weeks and years`,
  );
}

/** Parses an expiry, given as a time from now or a date, into ISO format. A date lasts until the end of that day, in UTC. */
export function parseEnd(option: string, text: string, now = Date.now()): string {
  const from = longTime(text);
  if (from !== undefined) return new Date(now + from).toISOString();
  const day = /^\d{4}-\d\d-\d\d$/.test(text.trim()) ? Date.parse(`${text.trim()}T23:59:59Z`) : Number.NaN;
  if (Number.isNaN(day) || day <= now) {
    throw new UsageError(
      `--${option}: "${text}" is not a time in the future`,
      `write it like --${option} 90d or --${option} 2030-01-31`,
    );
  }
  return new Date(day).toISOString();
}

export function parseSeconds(option: string, text: string): number {
  const match = /^(\d{1,7})\s*(s|m|h)?$/i.exec(text.trim());
  if (!match) {
    throw new UsageError(`--${option}: "${text}" is not a time`, `write it like --${option} 30s or 5m`);
  }
  return Number(match[1]) * { s: 1, m: 60, h: 3600 }[(match[2] ?? 's').toLowerCase() as 's' | 'm' | 'h'];
}
