/** What the account asks others for, and what came; loaded with the part that shows it. */
import { computed, effect, signal } from '@preact/signals';
import { account, phase } from '../accounts/session.ts';
import type { Asked, Fault, ListedDelivery, ListedRequest } from '../core/bridge/calls.ts';
import { call, faultOf } from '../core/call.ts';
import { onBack } from '../core/connection.ts';
import { tell, tellFault } from '../core/notices.ts';
import { matcher } from '../core/search.ts';
import { changed, filter, items, place } from '../files/file-list.ts';
import { words } from './text/index.ts';

/** Null until it was read. */
const all = signal<Asked | null>(null);
export const askedFault = signal<Fault | null>(null);
/** Something is done to what came. */
export const working = signal(false);

export const asked = computed((): Asked | null => {
  const now = all.value;
  if (!now || filter.value.trim() === '') return now;
  const fits = matcher(filter.value);
  return {
    requests: now.requests.filter(({ folder }) => fits(folder)),
    deliveries: now.deliveries.filter(({ name }) => fits(name)),
  };
});

export async function readAsked(): Promise<void> {
  const who = account.peek();
  try {
    const found = await call('requests');
    if (account.peek() !== who) return;
    askedFault.value = null;
    all.value = found;
  } catch (error) {
    if (account.peek() !== who) return;
    // What was read before stays, with a word that it may be old.
    if (all.value) tellFault(error);
    else askedFault.value = faultOf(error);
  }
}

export async function endRequest({ id, ended }: ListedRequest): Promise<void> {
  try {
    await call('endRequest', id);
    if (ended === null) tell(words.asks.done);
  } catch (error) {
    tellFault(error);
  }
  await readAsked();
}

async function act(work: () => Promise<string>): Promise<void> {
  working.value = true;
  try {
    tell(await work());
  } catch (error) {
    tellFault(error);
  }
  await readAsked();
  working.value = false;
}

/** Into this folder, or where each of their requests wants it. */
export function takeOver(deliveries: readonly ListedDelivery[], folder: string | null): Promise<void> {
  const ids = deliveries.map(({ fileId }) => fileId);
  return act(async () => {
    try {
      return words.asks.taken((await call('takeOver', ids, folder)).length);
    } finally {
      // Some may be files now although one was refused.
      await changed();
    }
  });
}

export function dropDelivery({ fileId }: ListedDelivery): Promise<void> {
  return act(async () => {
    await call('dropDelivery', fileId);
    return words.asks.dropped;
  });
}

effect(() => {
  if (phase.value === 'in') return;
  all.value = null;
  askedFault.value = null;
});
const isSeen = () => phase.peek() === 'in' && place.peek().at === 'shared' && !document.hidden;
// The list is read again whenever something has changed for the account, and a delivery is such a change.
effect(() => {
  void items.value;
  if (isSeen() && !working.peek()) void readAsked();
});
onBack(() => {
  if (isSeen()) void readAsked();
});
document.addEventListener('visibilitychange', () => {
  if (isSeen()) void readAsked();
});
