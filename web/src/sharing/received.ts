/** What others share with this account. */
import { computed, effect, signal } from '@preact/signals';
import { account, phase } from '../accounts/session.ts';
import type { Fault, ListedReceived, SharedFiles } from '../core/bridge/calls.ts';
import { call, faultOf } from '../core/call.ts';
import { onBack } from '../core/connection.ts';
import { tellFault } from '../core/notices.ts';
import { matcher } from '../core/search.ts';
import { filter, place } from '../files/file-list.ts';

/** Null until it was read. */
const all = signal<ListedReceived[] | null>(null);
export const receivedFault = signal<Fault | null>(null);
/** Of those that somebody looks into, by their ids: what is in them, or why that cannot be said; null until it is read. */
export const opened = signal<ReadonlyMap<string, SharedFiles | Fault | null>>(new Map());

export const received = computed(() => {
  const wanted = filter.value.trim();
  const fits = matcher(filter.value);
  if (wanted === '') return all.value;
  return all.value?.filter(({ from, title }) => fits(title) || fits(from)) ?? null;
});

export async function readReceived(): Promise<void> {
  const who = account.peek();
  try {
    const found = await call('received');
    if (account.peek() !== who) return;
    receivedFault.value = null;
    all.value = found;
  } catch (error) {
    if (account.peek() !== who) return;
    // What was read before stays, with a word that it may be old.
    if (all.value) tellFault(error);
    else receivedFault.value = faultOf(error);
  }
}

function show(id: string, what: SharedFiles | Fault | null): void {
  opened.value = new Map(opened.value).set(id, what);
}

export async function look(id: string): Promise<void> {
  show(id, null);
  try {
    const found = await call('openReceived', id);
    if (opened.value.has(id)) show(id, found);
  } catch (error) {
    if (opened.value.has(id)) show(id, faultOf(error));
  }
}

export function lookAway(id: string): void {
  const left = new Map(opened.value);
  left.delete(id);
  opened.value = left;
}

export async function putAway(id: string): Promise<void> {
  try {
    await call('putAway', id);
  } catch (error) {
    tellFault(error);
  }
  lookAway(id);
  await readReceived();
}

effect(() => {
  if (phase.value === 'in') return;
  all.value = null;
  receivedFault.value = null;
  opened.value = new Map();
});
const isSeen = () => phase.peek() === 'in' && place.peek().at === 'received' && !document.hidden;
onBack(() => {
  if (isSeen()) void readReceived();
});
// What somebody shared, or ended, while this tab was behind another one.
document.addEventListener('visibilitychange', () => {
  if (isSeen()) void readReceived();
});
