/**
 * Makes a page of a text: Markdown rendered, or code in colours. It runs in a worker of its own, which has no keys, knows one text, and is
 * ended when that takes too long; what it makes is shown in a frame that has no powers.
 */
import type { ReaderAnswer, ReaderJob } from '../core/bridge/messages.ts';
import { codePage, markdownPage } from './pages.ts';

const scope = globalThis as unknown as {
  postMessage(message: ReaderAnswer): void;
  onmessage: ((event: MessageEvent<ReaderJob>) => void) | null;
};

scope.onmessage = ({ data: { text, language } }) => {
  try {
    scope.postMessage({ html: language === 'markdown' ? markdownPage(text) : codePage(text, language) });
  } catch (error) {
    scope.postMessage({ error: String(error) });
  }
};
