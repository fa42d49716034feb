import { effect } from '@preact/signals';
import { render } from 'preact';
import { Refusal } from '../core/controls/refusal.tsx';
import { App } from './app.tsx';
import '../style/index.css';
import { onFault, shownKey, start } from '../accounts/session.ts';
import { listen } from '../core/call.ts';
import { setReachable } from '../core/connection.ts';
import { missingHere } from '../core/needs.ts';
import { chosenColours, chosenLanguage } from '../core/settings.ts';
import { language, speak } from '../core/text/index.ts';
import { changed } from '../files/file-list.ts';
import { startNavigation } from '../files/navigation.ts';
import { onOperationProgress } from '../files/operations.ts';
import { startWatching } from '../files/watch.ts';
import { startLinks } from '../sharing/links.ts';
import { listenForPaste } from '../transfers/paste.ts';
import { active, onProgress, onUploaded } from '../transfers/transfers.ts';
import { keepShell } from './shell.ts';

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
      onOperationProgress(progress);
    },
    reachable: setReachable,
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
