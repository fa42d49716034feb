/** The links of the account. */
import { computed, effect, signal } from '@preact/signals';
import { account, phase } from '../accounts/session.ts';
import type { Fault, ListedLink } from '../core/bridge/calls.ts';
import { call, faultOf } from '../core/call.ts';
import { onBack } from '../core/connection.ts';
import { tell, tellFault } from '../core/notices.ts';
import { matcher } from '../core/search.ts';
import { text } from '../core/text/index.ts';
import { filter, place } from '../files/file-list.ts';

/** Whether this server lets its accounts share. */
export const offersLinks = signal(false);
/** Null until they were read. */
const all = signal<ListedLink[] | null>(null);
export const linksFault = signal<Fault | null>(null);
export const links = computed(() => {
  const fits = matcher(filter.value);
  return filter.value.trim() === '' ? all.value : (all.value?.filter(({ title }) => fits(title)) ?? null);
});

export async function readLinks(): Promise<void> {
  linksFault.value = null;
  const who = account.peek();
  try {
    const found = await call('links');
    if (account.peek() === who) all.value = found;
  } catch (error) {
    if (account.peek() === who) linksFault.value = faultOf(error);
  }
}

export async function endLink({ id, to, ended }: ListedLink): Promise<void> {
  try {
    await call('endLink', id);
    if (ended === null) tell(to === undefined ? text.shared.done : text.shared.shareDone);
    await readLinks();
  } catch (error) {
    tellFault(error);
  }
}

/** Into the clipboard, where the browser allows it. */
export async function copyLink(link: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(link);
    tell(text.share.copied);
  } catch {
    tell(text.share.notCopied, true);
  }
}

async function ask(): Promise<void> {
  if (phase.value !== 'in') return;
  try {
    offersLinks.value = await call('offersLinks');
  } catch {
    // It is asked again when the server is back.
  }
}

export function startLinks(): void {
  effect(() => {
    if (phase.value === 'in') return void ask();
    all.value = null;
    offersLinks.value = false;
  });
  onBack(() => void ask());
  effect(() => {
    if (phase.value === 'in' && place.value.at === 'shared') void readLinks();
  });
}
