import { effect } from '@preact/signals';
import { render } from 'preact';
import { noteReachable } from '../page/connection.ts';
import { beVisitor, listen } from '../page/core.ts';
import { localReady } from '../page/local.ts';
import { missingHere } from '../page/needs.ts';
import { chosenColours, chosenLanguage } from '../page/settings.ts';
import { active, onProgress } from '../page/transfers.ts';
import { Refusal } from '../parts/refusal.tsx';
import '../style/visitor.css';
import { language, speak, text } from '../text.ts';
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
  beVisitor('link');
  listen({ progress: onProgress, reachable: noteReachable });
  globalThis.addEventListener('beforeunload', (event) => {
    if (active.value.length > 0) event.preventDefault();
  });
  render(<VisitorPage />, page);
  void begin();
  void localReady();
} else render(<Refusal secure={secure} missing={missing} />, page);
