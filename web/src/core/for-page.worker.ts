import { displayName } from '@szafa/client';
import { faultOf } from './answer.worker.ts';
import type { ForPage } from './bridge/calls.ts';

/** Keys of names that others may have chosen: the page only gets them safe to display. */
const NAMES = new Set(['name', 'title', 'from', 'to', 'device']);

function convert(key: string, value: unknown): unknown {
  if (key === 'problem') return value && faultOf(value);
  if (typeof value !== 'string') return value;
  if (/(At|_at)$/.test(key)) return Date.parse(value);
  return NAMES.has(key) ? displayName(value) : value;
}

/** A record of the SDK as a message to the page can carry it. */
export function forPage<T extends object>(record: T): ForPage<T> {
  return Object.fromEntries(
    Object.entries(record).map(([key, value]) => [key, convert(key, value)]),
  ) as ForPage<T>;
}
