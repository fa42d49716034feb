import { signal } from '@preact/signals';
import type { Second } from '@szafa/client';
import type { Account, NewSession, SignUpOptions } from '../core/bridge/calls.ts';
import type { Fault } from '../core/bridge/messages.ts';
import { call, disown, faultOf } from '../core/call.ts';
import { onReconnect } from '../core/connection.ts';
import { dropNotices, notifyError } from '../core/notices.ts';
import { onTabs, toTabs } from '../core/tabs.ts';
import { text } from '../core/text/index.ts';
import { forgetAddress } from '../files/address.ts';
import { question } from '../files/collisions.ts';
import { clearFileList, refresh } from '../files/file-list.ts';
import { clearTransfers, restoreUploads, resumeAfterReconnect } from '../transfers/transfers.ts';
import { enterByPasskey } from './passkeys.ts';

export const account = signal<Account | null>(null);
export const phase = signal<'starting' | 'failed' | 'out' | 'in' | 'leaving'>('starting');
export const startFault = signal<Fault | null>(null);
/** Why the session ended, shown on the sign-in page. */
export const signOutReason = signal('');
/** A new recovery key, shown until its owner has saved it. It is already valid; with `isWish`, only once confirmed. */
export const shownKey = signal<{ username: string; key: string; isWish?: true } | null>(null);

/** The account that is being deleted. Its other requests fail with 401, which must not look like an expired session. */
let deleting: Account | null = null;

onTabs((news) => {
  if (news === 'changed' && phase.value === 'in') void refresh();
  // Another tab has replaced or ended the session that this tab could not restore: try again.
  if (news !== 'changed' && phase.value === 'failed') void start();
  if (news === 'signed-in' && phase.value === 'out') void start();
  if ((news === 'signed-out' || news === 'expired') && phase.value === 'in') void follow(news);
});

/** Signs out after another tab did, unless this tab has signed in again since: then its session is the stored one. */
async function follow(news: 'signed-out' | 'expired'): Promise<void> {
  const who = account.peek();
  if ((await call('isStored').catch(() => false)) || account.peek() !== who) return;
  if (news === 'expired') return void forget(call('expire'), text.state.expired);
  forgetAddress();
  shownKey.value = null;
  void forget(call('leave', false), text.state.elsewhere);
}

function resume(): void {
  if (phase.value === 'failed' && startFault.value?.code !== 'keys') void start();
  if (phase.value !== 'in') return;
  void refresh();
  resumeAfterReconnect();
}
onReconnect(resume);
globalThis.addEventListener('online', resume);

function begin(who: Account): void {
  // While this sign-in was pending, this tab followed another tab into a different account. Clear that one first.
  const before = account.peek();
  if (before && before.username !== who.username) {
    phase.value = 'starting';
    part();
  }
  account.value = who;
  signOutReason.value = '';
  phase.value = 'in';
  void refresh();
  restoreUploads(who.username).catch(notifyError);
}

/** Continues with the session that the browser stored. */
export async function start(): Promise<void> {
  phase.value = 'starting';
  try {
    const who = await call('restore');
    // A sign-in has succeeded in the meantime.
    if (account.peek()) return;
    if (typeof who === 'object' && who) return begin(who);
    if (who) signOutReason.value = who === 'ended' ? text.state.expired : text.state.otherPassword;
    phase.value = 'out';
  } catch (error) {
    if (account.peek()) return;
    startFault.value = faultOf(error);
    phase.value = 'failed';
  }
}

async function enter(entering: Promise<NewSession>): Promise<void> {
  const { username, recoveryKey } = await entering;
  toTabs('signed-in');
  if (recoveryKey) shownKey.value = { username, key: recoveryKey };
  begin({ username });
}

export const login = (username: string, password: string, second: Second) =>
  enter(call('login', username, password, second));
export async function loginWithPasskey(): Promise<void> {
  const { answer, secret } = await enterByPasskey(await call('passkeyChallenge'));
  const entering = call('loginWithPasskey', answer, secret);
  secret.fill(0); // the worker has its own copy
  await enter(entering);
}
export const register = (username: string, password: string, wishes: SignUpOptions) =>
  enter(call('register', username, password, wishes));
export const recover = (username: string, recoveryKey: string, password: string) =>
  enter(call('recover', username, recoveryKey, password));

/** Clears everything of an account, so that the next one does not see it. */
function part(): void {
  disown();
  account.value = null;
  clearTransfers();
  clearFileList();
  // Questions, notices and Undo belong to the account that signs out.
  question.peek()?.answer(undefined, true);
  dropNotices();
  if (shownKey.peek()?.isWish) shownKey.value = null;
}

async function forget<T>(leaving: Promise<T>, why = ''): Promise<T> {
  // Show the sign-in page only after the keys are gone, because it says so.
  phase.value = 'leaving';
  part();
  signOutReason.value = why;
  try {
    return await leaving;
  } finally {
    phase.value = 'out';
  }
}

export async function leave(): Promise<void> {
  forgetAddress();
  if (await forget(call('leave', true))) toTabs('signed-out');
}

/** Ends the session if the server rejects its token, in whichever call. */
export function onFault({ status }: Fault): void {
  if (status !== 401 || phase.value !== 'in' || deleting === account.peek()) return;
  void forget(call('expire'), text.state.expired).then((isLast) => isLast && toTabs('expired'));
}

export async function makeRecoveryKey(): Promise<void> {
  const who = account.peek()!;
  const key = await call('newRecoveryKey');
  if (account.peek() === who) shownKey.value = { username: who.username, key, isWish: true };
}

export async function deleteAccount(password: string): Promise<void> {
  const who = account.peek()!;
  deleting = who;
  let isLast: boolean;
  try {
    isLast = await call('deleteAccount', password);
  } finally {
    deleting = null;
  }
  if (isLast) toTabs('signed-out');
  if (account.peek() !== who) return;
  forgetAddress();
  await forget(Promise.resolve(), text.state.deleted(who.username));
}
