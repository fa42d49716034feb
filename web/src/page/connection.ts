import { signal } from '@preact/signals';
import { text } from '../text.ts';
import { tell } from './notices.ts';

export const online = signal(navigator.onLine);
export const reachable = signal(true);

export function noteReachable(now: boolean): void {
  if (now && !reachable.value) tell(text.state.back);
  reachable.value = now;
}

globalThis.addEventListener('online', () => {
  online.value = true;
});
globalThis.addEventListener('offline', () => {
  online.value = false;
});
