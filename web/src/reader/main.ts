/**
 * Renders a text as an HTML page: Markdown, or code with syntax colours. Runs in its own worker, which has no keys, gets
 * one text, and is terminated if it takes too long. The result is shown in a sandboxed iframe.
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
