/** Lets the browser cache the app, so that it opens when the server cannot be reached. */
import type { ToServiceWorker } from '../core/bridge/messages.ts';
import { appUrl } from '../core/call.ts';
import { localReady } from '../transfers/local.ts';

/** Tells the service worker which files to cache. On a first visit they load before it runs, so it has not seen them. */
export async function keepShell(): Promise<void> {
  if (!(await localReady())) return;
  const { active } = await navigator.serviceWorker.ready;
  const loaded = performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname);
  const parts = loaded.filter((path) => path.startsWith('/assets/'));
  active!.postMessage({ keep: ['/', appUrl, ...parts] } satisfies ToServiceWorker);
}
