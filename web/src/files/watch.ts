/** Polls for changes by other devices, and reads the list again after one. */
import { effect } from '@preact/signals';
import { phase } from '../accounts/session.ts';
import { call } from '../core/call.ts';
import { listedRev, refresh } from './file-list.ts';

const EVERY_MS = 10_000;

let asking = false;

async function look(): Promise<void> {
  if (asking || document.hidden || phase.value !== 'in' || listedRev.value === undefined) return;
  asking = true;
  try {
    const rev = await call('changes');
    if (rev !== listedRev.value) await refresh();
  } catch {
    // Ignored: the next poll comes soon, and actions report their own errors.
  } finally {
    asking = false;
  }
}

/** Polls while the page is visible, and at once when it becomes visible or gets the focus. */
export function startWatching(): void {
  let timer: ReturnType<typeof setInterval> | undefined;
  const start = () => {
    clearInterval(timer);
    timer = document.hidden || phase.value !== 'in' ? undefined : setInterval(() => void look(), EVERY_MS);
  };
  const back = () => {
    start();
    void look();
  };
  effect(start);
  document.addEventListener('visibilitychange', back);
  globalThis.addEventListener('focus', back);
}
