import { effect } from '@preact/signals';
import { render } from 'preact';
import { listen, useVisitorWorker } from '../core/call.ts';
import { setReachable } from '../core/connection.ts';
import { Refusal } from '../core/controls/refusal.tsx';
import { missingHere } from '../core/needs.ts';
import { chosenColours, chosenLanguage } from '../core/settings.ts';
import { active, onProgress } from '../transfers/transfers.ts';
import '../style/sender.css';
import { language, speak, text } from '../core/text/index.ts';
import { begin, listenForDrops, watchUploads } from './request.ts';
import { SenderPage } from './sender-page.tsx';
import { words } from './text.ts';

const page = document.getElementById('page')!;
const { documentElement: root } = document;

effect(() => {
  root.lang = language();
  document.title = `${words.title} · ${text.name}`;
});
effect(() => {
  root.dataset['colours'] = chosenColours.value;
});
chosenLanguage.subscribe(() => void speak());

/** Files are sealed for a key of this kind. */
async function hasX25519(): Promise<boolean> {
  try {
    await crypto.subtle.generateKey('X25519', false, ['deriveBits']);
    return true;
  } catch {
    return false;
  }
}

const secure = globalThis.isSecureContext && globalThis.crypto?.subtle !== undefined;
const missing = secure ? missingHere() : [];
if (secure && !(await hasX25519())) missing.push('X25519');
if (secure && missing.length === 0) {
  useVisitorWorker('request');
  listen({ progress: onProgress, reachable: setReachable });
  globalThis.addEventListener('beforeunload', (event) => {
    if (active.value.length > 0) event.preventDefault();
  });
  render(<SenderPage />, page);
  listenForDrops();
  watchUploads();
  void begin();
} else render(<Refusal secure={secure} missing={missing} />, page);
