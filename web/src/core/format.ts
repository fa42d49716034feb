/** Formats sizes and times in the language of the page. */
import { computed } from '@preact/signals';
import { language } from './text/index.ts';

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];

const intl = computed(() => {
  const of = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(language(), options);
  const digits = (count: number) =>
    new Intl.NumberFormat(language(), { minimumFractionDigits: count, maximumFractionDigits: count });
  return {
    whole: digits(0),
    tenths: digits(1),
    today: of({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }),
    thisYear: of({ day: 'numeric', month: 'short' }),
    earlier: of({ day: 'numeric', month: 'short', year: 'numeric' }),
    month: of({ month: 'long', year: 'numeric' }),
    full: of({ dateStyle: 'medium', timeStyle: 'short', hourCycle: 'h23' }),
  };
});

/** Formats 1,234,567 as "1.2 MB". Units are multiples of 1024, like those of the quota. */
export function bytes(count: number): string {
  let unit = 0;
  let value = count;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  const { whole, tenths } = intl.value;
  return `${(unit > 0 && value < 10 ? tenths : whole).format(value)} ${UNITS[unit]}`;
}

export function duration(seconds: number): string {
  const whole = Math.max(1, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** The server or another client may send a time that is no valid date; formatting it would throw. */
const isTime = (date: Date) => !Number.isNaN(date.getTime());

export function date(ms: number, now = new Date()): string {
  const then = new Date(ms);
  if (!isTime(then)) return '';
  const { today, thisYear, earlier } = intl.value;
  if (then.toDateString() === now.toDateString()) return today.format(then);
  return (then.getFullYear() === now.getFullYear() ? thisYear : earlier).format(then);
}

export function fullDate(ms: number): string {
  const then = new Date(ms);
  return isTime(then) ? intl.value.full.format(then) : '';
}

/** "November 2026". */
export function month(ms: number): string {
  const then = new Date(ms);
  return isTime(then) ? intl.value.month.format(then) : '';
}
