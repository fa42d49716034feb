import { effect } from '@preact/signals';
import { render } from 'preact';
import { noteReachable } from '../page/connection.ts';
import { beVisitor, listen } from '../page/core.ts';
import { missingHere } from '../page/needs.ts';
import { chosenColours, chosenLanguage } from '../page/settings.ts';
import { active, onProgress } from '../page/transfers.ts';
import { Refusal } from '../parts/refusal.tsx';
import '../style/sender.css';
import { words } from '../text/sender.ts';
import { language, speak, text } from '../text.ts';
import { begin, listenForDrops, watchUploads } from './asked.ts';
import { SenderPage } from './sender-page.tsx';

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
  beVisitor('request');
  listen({ progress: onProgress, reachable: noteReachable });
  globalThis.addEventListener('beforeunload', (event) => {
    if (active.value.length > 0) event.preventDefault();
  });
  render(<SenderPage />, page);
  listenForDrops();
  watchUploads();
  void begin();
} else render(<Refusal secure={secure} missing={missing} />, page);
