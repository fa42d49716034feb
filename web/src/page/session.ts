import { signal } from '@preact/signals';
import type { Account, Fault } from '../bridge.ts';
import { text } from '../text.ts';
import { call, faultOf } from './core.ts';
import { tell, tellFault } from './notices.ts';
import { emptyShelf, refresh } from './shelf.ts';
import { onTabs, toTabs } from './tabs.ts';
import { emptyTransfers, recall, resumeLost } from './transfers.ts';

export const account = signal<Account | null>(null);
export const phase = signal<'starting' | 'failed' | 'out' | 'in' | 'leaving'>('starting');
export const startFault = signal<Fault | null>(null);

onTabs((news) => {
  if (news === 'changed' && phase.value === 'in') void refresh();
  if (news === 'signed-in' && phase.value === 'out') void start();
  if (news === 'signed-out' && phase.value === 'in') void forget(call('leave', false), text.state.elsewhere);
  if (news === 'expired' && phase.value === 'in') void forget(call('expire'), text.state.expired);
});

globalThis.addEventListener('online', () => {
  if (phase.value !== 'in') return;
  void refresh();
  resumeLost();
});

function begin(who: Account): void {
  account.value = who;
  phase.value = 'in';
  void refresh();
  recall(who.username).catch(tellFault);
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

export async function enter(
  how: 'register' | 'login',
  username: string,
  password: string,
  invite?: string,
): Promise<void> {
  const who = await call('enter', how, username, password, invite);
  toTabs('signed-in');
  begin(who);
}

async function forget(leaving: Promise<void>, why?: string): Promise<void> {
  // The page to sign in with says that the keys are gone, so it comes after that.
  phase.value = 'leaving';
  account.value = null;
  emptyTransfers();
  emptyShelf();
  try {
    await leaving;
  } finally {
    phase.value = 'out';
  }
  if (why) tell(why);
}

export async function leave(): Promise<void> {
  await forget(call('leave', true));
  toTabs('signed-out');
}

/** A token that the service no longer knows ends the session here, whichever call found it out. */
export function onFault({ status }: Fault): void {
  if (status !== 401 || phase.value !== 'in') return;
  void forget(call('expire'), text.state.expired).then(() => toTabs('expired'));
}
