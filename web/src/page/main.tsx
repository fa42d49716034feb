import { render } from 'preact';
import { App } from '../parts/app.tsx';
import { Refusal } from '../parts/refusal.tsx';
import '../style/index.css';
import { noteReachable } from './connection.ts';
import { listen } from './core.ts';
import { localReady } from './local.ts';
import { onFault, start } from './session.ts';
import { active, onProgress } from './transfers.ts';

const page = document.getElementById('page')!;

/** What the SDK and this page cannot do without. */
function modern(): boolean {
  return 'fromBase64' in Uint8Array && 'fromAsync' in Array && 'any' in AbortSignal && 'locks' in navigator;
}

function begin(): void {
  listen({ progress: onProgress, reachable: noteReachable, fault: onFault });
  globalThis.addEventListener('beforeunload', (event) => {
    if (active.value.length > 0) event.preventDefault();
  });
  render(<App />, page);
  void start();
  void localReady();
}

const secure = globalThis.isSecureContext && globalThis.crypto?.subtle !== undefined;
if (secure && modern()) begin();
else render(<Refusal secure={secure} />, page);
