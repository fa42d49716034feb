import { displayName } from '@szafa/client';
import { faultOf } from './answer.worker.ts';
import type { ForPage } from './bridge/calls.ts';

/** Members with names that other people may have chosen: made safe to display before the page gets them. */
const NAMES = new Set(['name', 'title', 'from', 'to', 'device']);

function convert(key: string, value: unknown): unknown {
  if (key === 'problem') return value && faultOf(value);
  if (typeof value !== 'string') return value;
  if (/(At|_at)$/.test(key)) return Date.parse(value);
  return NAMES.has(key) ? displayName(value) : value;
}

/** Converts a record of the SDK for a message to the page: times to numbers, problems to faults, names to safe ones. */
export function forPage<T extends object>(record: T): ForPage<T> {
  return Object.fromEntries(
    Object.entries(record).map(([key, value]) => [key, convert(key, value)]),
  ) as ForPage<T>;
}
