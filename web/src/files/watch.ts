/** Changes of other devices: the list is read again when the service has another state than the one that was listed. */
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
    // Whoever looks at the page is told by what they do; the next look comes soon.
  } finally {
    asking = false;
  }
}

/** Asks now and then, and when somebody comes back to the page; never for a page that nobody sees. */
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
