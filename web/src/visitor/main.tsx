import { effect } from '@preact/signals';
import { render } from 'preact';
import { listen, useVisitorWorker } from '../core/call.ts';
import { setReachable } from '../core/connection.ts';
import { Refusal } from '../core/controls/refusal.tsx';
import { missingHere } from '../core/needs.ts';
import { chosenColours, chosenLanguage } from '../core/settings.ts';
import { localReady } from '../transfers/local.ts';
import { active, onProgress } from '../transfers/transfers.ts';
import '../style/visitor.css';
import { language, speak, text } from '../core/text/index.ts';
import { begin } from './visit.ts';
import { VisitorPage } from './visitor-page.tsx';

const page = document.getElementById('page')!;
const { documentElement: root } = document;

effect(() => {
  root.lang = language();
  document.title = `${text.visitor.title} · ${text.name}`;
});
effect(() => {
  root.dataset['colours'] = chosenColours.value;
});
chosenLanguage.subscribe(() => void speak());

const secure = globalThis.isSecureContext && globalThis.crypto?.subtle !== undefined;
const missing = secure ? missingHere() : [];
if (secure && missing.length === 0) {
  useVisitorWorker('link');
  listen({ progress: onProgress, reachable: setReachable });
  globalThis.addEventListener('beforeunload', (event) => {
    if (active.value.length > 0) event.preventDefault();
  });
  render(<VisitorPage />, page);
  void begin();
  void localReady();
} else render(<Refusal secure={secure} missing={missing} />, page);
