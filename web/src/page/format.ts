const UNITS = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];

/** 1,234,567 as "1.2 MB"; steps of 1024, as the quota counts. */
export function bytes(count: number): string {
  let unit = 0;
  let value = count;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  const digits = unit > 0 && value < 10 ? 1 : 0;
  return `${value.toFixed(digits)} ${UNITS[unit]}`;
}

export function duration(seconds: number): string {
  const whole = Math.max(1, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

const today = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const thisYear = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short' });
const earlier = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', year: 'numeric' });
const whole = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short', hourCycle: 'h23' });

/** A time that no calendar has, as a service or another client may say one, cannot be written. */
const isTime = (date: Date) => !Number.isNaN(date.getTime());

export function date(ms: number, now = new Date()): string {
  const then = new Date(ms);
  if (!isTime(then)) return '';
  if (then.toDateString() === now.toDateString()) return today.format(then);
  return (then.getFullYear() === now.getFullYear() ? thisYear : earlier).format(then);
}

export function fullDate(ms: number): string {
  const then = new Date(ms);
  return isTime(then) ? whole.format(then) : '';
}
