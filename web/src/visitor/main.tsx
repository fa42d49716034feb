import { useVisitorWorker } from '../core/call.ts';
import { startPage } from '../core/start-page.tsx';
import { localReady } from '../transfers/local.ts';
import '../style/visitor.css';
import { text } from '../core/text/index.ts';
import { begin } from './visit.ts';
import { VisitorPage } from './visitor-page.tsx';

void startPage({
  Page: VisitorPage,
  title: () => text.visitor.title,
  prepare: () => useVisitorWorker('link'),
  begin() {
    void begin();
    void localReady();
  },
});
