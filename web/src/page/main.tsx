import { effect } from '@preact/signals';
import { render } from 'preact';
import { App } from '../parts/app.tsx';
import { Refusal } from '../parts/refusal.tsx';
import '../style/index.css';
import { language, speak } from '../text.ts';
import { noteReachable } from './connection.ts';
import { listen } from './core.ts';
import { startLinks } from './links.ts';
import { startNavigation } from './navigation.ts';
import { missingHere } from './needs.ts';
import { onOperation } from './operations.ts';
import { listenForPaste } from './paste.ts';
import { onFault, shownKey, start } from './session.ts';
import { chosenColours, chosenLanguage } from './settings.ts';
import { changed } from './shelf.ts';
import { keepShell } from './shell.ts';
import { active, onProgress, onUploaded } from './transfers.ts';
import { startWatching } from './watch.ts';

const page = document.getElementById('page')!;
const { documentElement: root } = document;

effect(() => {
  root.lang = language();
});
effect(() => {
  root.dataset['colours'] = chosenColours.value;
});
chosenLanguage.subscribe(() => void speak());

function begin(): void {
  listen({
    progress(progress) {
      onProgress(progress);
      onOperation(progress);
    },
    reachable: noteReachable,
    fault: onFault,
  });
  globalThis.addEventListener('beforeunload', (event) => {
    if (active.value.length > 0 || shownKey.value) event.preventDefault();
  });
  onUploaded(() => void changed());
  listenForPaste();
  render(<App />, page);
  startNavigation();
  startWatching();
  startLinks();
  void start();
  void keepShell();
}

const secure = globalThis.isSecureContext && globalThis.crypto?.subtle !== undefined;
const missing = secure ? missingHere() : [];
if (secure && missing.length === 0) begin();
else render(<Refusal secure={secure} missing={missing} />, page);
