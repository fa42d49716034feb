/** The links of the account, and its shares with other accounts. */
import { effect, signal } from '@preact/signals';
import { phase } from '../accounts/session.ts';
import type { LinkRow } from '../core/bridge/calls.ts';
import { call } from '../core/call.ts';
import { onReconnect } from '../core/connection.ts';
import { notify, notifyError } from '../core/notices.ts';
import { text } from '../core/text/index.ts';
import { remoteList } from './remote-list.ts';

/** Whether sharing is turned on at this server. */
export const offersLinks = signal(false);

export const links = remoteList({
  at: 'shared',
  load: () => call('links'),
  search: (all, fits) => all.filter(({ title }) => fits(title)),
});

export async function endLink({ id, to, ended }: LinkRow): Promise<void> {
  try {
    await call('endLink', id);
    if (ended === null) notify(to === undefined ? text.shared.done : text.shared.shareDone);
    await links.read();
  } catch (error) {
    notifyError(error);
  }
}

export async function copyLink(link: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(link);
    notify(text.share.copied);
  } catch {
    notify(text.share.notCopied, true);
  }
}

async function askServer(): Promise<void> {
  if (phase.value !== 'in') return;
  try {
    offersLinks.value = await call('offersLinks');
  } catch {
    // Ignored: the page asks again when the server can be reached.
  }
}

export function startLinks(): void {
  effect(() => {
    if (phase.value === 'in') void askServer();
    else offersLinks.value = false;
  });
  onReconnect(() => void askServer());
}
