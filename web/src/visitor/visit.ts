/** State of the page behind a link. */
import { signal } from '@preact/signals';
import type { LinkTerms, SharedFiles } from '../core/bridge/calls.ts';
import type { Fault } from '../core/bridge/messages.ts';
import { call, faultOf } from '../core/call.ts';
import { onReconnect } from '../core/connection.ts';

type PageState =
  | { at: 'opening' }
  | { at: 'locked' }
  | ({ at: 'open' } & SharedFiles)
  | { at: 'fault'; fault: Fault };

export const shown = signal<PageState>({ at: 'opening' });
export const visited = signal<LinkTerms | null>(null);

const ticketKey = () => `szafa-ticket ${globalThis.location.pathname}`;

/** Returns the ticket of this tab, which survives a reload. */
function storedTicket(): string | null {
  try {
    const kept = sessionStorage.getItem(ticketKey());
    return kept !== null && /^[\w-]{43}$/.test(kept) ? kept : null;
  } catch {
    return null; // the browser has no session storage
  }
}

function storeTicket(ticket: string): void {
  try {
    sessionStorage.setItem(ticketKey(), ticket);
  } catch {
    // Without session storage, a reload counts as another download.
  }
}

/** Returns the link without a query, which mail programs and trackers may have added. */
function link(): string {
  const { origin, pathname, hash } = globalThis.location;
  return `${origin}${pathname}${hash}`;
}

export async function begin(): Promise<void> {
  shown.value = { at: 'opening' };
  try {
    const found = await call('visit', link(), storedTicket());
    storeTicket(found.ticket);
    visited.value = found;
    if (found.needsPassphrase) shown.value = { at: 'locked' };
    else await open(null);
  } catch (error) {
    shown.value = { at: 'fault', fault: faultOf(error) };
  }
}

/** Throws if the passphrase is wrong. */
export async function open(passphrase: string | null): Promise<void> {
  shown.value = { at: 'open', ...(await call('openLink', passphrase)) };
}

onReconnect(() => {
  const now = shown.value;
  if (now.at === 'fault' && now.fault.code === 'network') void begin();
});
// A new link that differs only after the `#` does not load the page again by itself.
globalThis.addEventListener('hashchange', () => globalThis.location.reload());
