/** A list that the page reads from the server while one place is shown: links, received shares, file requests. */
import { computed, effect, type ReadonlySignal, signal } from '@preact/signals';
import { account, phase } from '../accounts/session.ts';
import type { Fault } from '../core/bridge/messages.ts';
import { faultOf } from '../core/call.ts';
import { onReconnect } from '../core/connection.ts';
import { notifyError } from '../core/notices.ts';
import { matcher } from '../core/search.ts';
import type { Place } from '../files/address.ts';
import { filter, place } from '../files/file-list.ts';

export interface RemoteList<T> {
  /** The rows that match the search; null until the list was read. */
  shown: ReadonlySignal<T | null>;
  /** Why the list could not be read. */
  fault: ReadonlySignal<Fault | null>;
  read(): Promise<void>;
}

interface ListOptions<T> {
  /** The list is read each time the user goes to this place. */
  at: Place['at'];
  load(): Promise<T>;
  search(all: T, fits: (text: string) => boolean): T;
  /** A change of any signal read here makes the page read the list again, unless the result is false. */
  isOld?(): boolean;
}

export function remoteList<T>({ at, load, search, isOld = () => true }: ListOptions<T>): RemoteList<T> {
  const all = signal<T | null>(null);
  const fault = signal<Fault | null>(null);

  async function read(): Promise<void> {
    const who = account.peek();
    try {
      const found = await load();
      if (account.peek() !== who) return;
      fault.value = null;
      all.value = found;
    } catch (error) {
      if (account.peek() !== who) return;
      // Keep a list that was read before, and notify that it may be outdated.
      if (all.value) notifyError(error);
      else fault.value = faultOf(error);
    }
  }

  const readIfSeen = () => {
    if (phase.peek() === 'in' && place.peek().at === at && !document.hidden) void read();
  };
  effect(() => {
    if (phase.value !== 'in') {
      all.value = null;
      fault.value = null;
    } else if (place.value.at === at && isOld()) void read();
  });
  onReconnect(readIfSeen);
  document.addEventListener('visibilitychange', readIfSeen);

  const shown = computed(() =>
    all.value && filter.value.trim() !== '' ? search(all.value, matcher(filter.value)) : all.value,
  );
  return { shown, fault, read };
}
