import { effect, signal } from '@preact/signals';
import { type Account, type Fault, TAB_CHANNEL, type TabNews } from '../bridge.ts';
import { text } from '../text.ts';
import { call, faultOf } from './core.ts';
import { tell } from './notices.ts';
import { emptyShelf, listFault, refresh } from './shelf.ts';
import { emptyTransfers, recall } from './transfers.ts';

export const account = signal<Account | null>(null);
export const phase = signal<'starting' | 'failed' | 'out' | 'in'>('starting');
export const startFault = signal<Fault | null>(null);

const tabs = new BroadcastChannel(TAB_CHANNEL);

export function toTabs(news: TabNews): void {
  tabs.postMessage(news);
}

tabs.onmessage = ({ data }: MessageEvent<TabNews>) => {
  if (data === 'changed' && phase.value === 'in') void refresh();
  if (data === 'signed-in' && phase.value === 'out') void start();
  if (data === 'signed-out' && phase.value === 'in') void forget(false, text.state.elsewhere);
};

function begin(who: Account): void {
  account.value = who;
  phase.value = 'in';
  void refresh();
  void recall(who.username);
}

/** Goes on with what the browser kept. */
export async function start(): Promise<void> {
  phase.value = 'starting';
  try {
    const who = await call('restore');
    if (who) begin(who);
    else phase.value = 'out';
  } catch (error) {
    startFault.value = faultOf(error);
    phase.value = 'failed';
  }
}

export async function enter(how: 'register' | 'login', username: string, password: string): Promise<void> {
  const who = await call('enter', how, username, password);
  toTabs('signed-in');
  begin(who);
}

async function forget(tellService: boolean, why?: string): Promise<void> {
  phase.value = 'out';
  account.value = null;
  emptyTransfers();
  emptyShelf();
  await call('leave', tellService);
  if (why) tell(why);
}

export async function leave(): Promise<void> {
  await forget(true);
  toTabs('signed-out');
}

// A token that the service no longer knows ends the session here, whichever call found it out.
effect(() => {
  if (listFault.value?.status === 401 && phase.peek() === 'in') {
    void forget(false, text.state.expired).then(() => toTabs('signed-out'));
  }
});
