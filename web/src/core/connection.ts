/** Whether the server can be reached. While it cannot, the page polls until the server answers again. */
import { computed, effect, signal } from '@preact/signals';
import { notify } from './notices.ts';
import { text } from './text/index.ts';

export const online = signal(navigator.onLine);
export const reachable = signal(true);
export const connected = computed(() => online.value && reachable.value);

const AGAIN_MS = 1_000;
const PATIENCE_MS = 5_000;
/** Statuses of a proxy whose server is down, and of a server whose stores do not answer. */
const AWAY = [502, 503, 504];

const reconnectListeners: (() => void)[] = [];

/** Runs `act` each time the server can be reached again. */
export function onReconnect(act: () => void): void {
  reconnectListeners.push(act);
}

export function setReachable(now: boolean): void {
  const isBack = now && !reachable.value;
  reachable.value = now;
  if (!isBack) return;
  notify(text.state.back);
  for (const act of reconnectListeners) act();
}

export async function serverAnswers(): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    return !AWAY.includes((await fetch('/readyz', { cache: 'no-store', signal })).status);
  } catch {
    return false;
  }
}

let asking = false;

async function waitForServer(): Promise<void> {
  if (asking) return;
  asking = true;
  while (online.value && !reachable.value) {
    if (await serverAnswers()) setReachable(true);
    else await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
  asking = false;
}

effect(() => {
  if (online.value && !reachable.value) void waitForServer();
});

globalThis.addEventListener('online', () => {
  online.value = true;
});
globalThis.addEventListener('offline', () => {
  online.value = false;
});
