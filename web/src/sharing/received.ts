/** Shares from other accounts. */
import { effect, signal } from '@preact/signals';
import { phase } from '../accounts/session.ts';
import type { SharedFiles } from '../core/bridge/calls.ts';
import type { Fault } from '../core/bridge/messages.ts';
import { call, faultOf } from '../core/call.ts';
import { notifyError } from '../core/notices.ts';
import { remoteList } from './remote-list.ts';

export const received = remoteList({
  at: 'received',
  load: () => call('received'),
  search: (all, fits) => all.filter(({ from, title }) => fits(title) || fits(from)),
});

/** The expanded shares by id: their files, or why they cannot be shown; null while loading. */
export const openShares = signal<ReadonlyMap<string, SharedFiles | Fault | null>>(new Map());

function setShare(id: string, content: SharedFiles | Fault | null): void {
  openShares.value = new Map(openShares.value).set(id, content);
}

export async function openShare(id: string): Promise<void> {
  setShare(id, null);
  const content = await call('openReceived', id).catch(faultOf);
  if (openShares.value.has(id)) setShare(id, content);
}

export function closeShare(id: string): void {
  const left = new Map(openShares.value);
  left.delete(id);
  openShares.value = left;
}

export async function removeReceived(id: string): Promise<void> {
  await call('removeReceived', id).catch(notifyError);
  closeShare(id);
  await received.read();
}

effect(() => {
  if (phase.value !== 'in') openShares.value = new Map();
});
