/** Has the browser keep the app itself, for when the server cannot be reached. */
import type { ToServiceWorker } from '../core/bridge/messages.ts';
import { appUrl } from '../core/call.ts';
import { localReady } from '../transfers/local.ts';

/** At a first visit, the page's files are loaded before the service worker runs, so it does not see them. */
export async function keepShell(): Promise<void> {
  if (!(await localReady())) return;
  const { active } = await navigator.serviceWorker.ready;
  const loaded = performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname);
  const parts = loaded.filter((path) => path.startsWith('/assets/'));
  active!.postMessage({ keep: ['/', appUrl, ...parts] } satisfies ToServiceWorker);
}
