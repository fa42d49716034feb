import { App } from './app.tsx';
import '../style/index.css';
import { onFault, shownKey, start } from '../accounts/session.ts';
import { listen } from '../core/call.ts';
import { startPage } from '../core/start-page.tsx';
import { changed } from '../files/file-list.ts';
import { startNavigation } from '../files/navigation.ts';
import { onOperationProgress } from '../files/operations.ts';
import { startWatching } from '../files/watch.ts';
import { startLinks } from '../sharing/links.ts';
import { listenForPaste } from '../transfers/paste.ts';
import { onProgress, onUploaded } from '../transfers/transfers.ts';
import { keepShell } from './shell.ts';

void startPage({
  Page: App,
  hasUnsaved: () => shownKey.value !== null,
  prepare() {
    listen({
      progress(progress) {
        onProgress(progress);
        onOperationProgress(progress);
      },
      fault: onFault,
    });
    onUploaded(() => void changed());
    listenForPaste();
  },
  begin() {
    startNavigation();
    startWatching();
    startLinks();
    void start();
    void keepShell();
  },
});
