import { useVisitorWorker } from '../core/call.ts';
import { startPage } from '../core/start-page.tsx';
import '../style/sender.css';
import { begin, listenForDrops, watchUploads } from './request.ts';
import { SenderPage } from './sender-page.tsx';
import { words } from './text.ts';

/** Checks for X25519, because files are sealed for such a key. */
async function lacksX25519(): Promise<string[]> {
  try {
    await crypto.subtle.generateKey('X25519', false, ['deriveBits']);
    return [];
  } catch {
    return ['X25519'];
  }
}

void startPage({
  Page: SenderPage,
  title: () => words.title,
  lacks: lacksX25519,
  prepare: () => useVisitorWorker('request'),
  begin() {
    listenForDrops();
    watchUploads();
    void begin();
  },
});
