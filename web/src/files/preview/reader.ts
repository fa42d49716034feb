/** Renders texts for the preview: Markdown as HTML, code with syntax colours. */

import type { ReaderAnswer, ReaderJob } from '../../core/bridge/messages.ts';
import { scriptUrl } from '../../core/call.ts';
import readerUrl from '../../reader/main.ts?worker&url';

/** A text that takes longer to render, perhaps on purpose, is shown plain. */
const LIMIT_MS = 4_000;

/** Languages of `highlight.js/lib/common` by file extension. */
const LANGUAGES: Record<string, string> = {
  'md markdown': 'markdown',
  'js mjs cjs jsx': 'javascript',
  'ts mts cts tsx': 'typescript',
  'json jsonl webmanifest': 'json',
  'html htm xml svg xhtml': 'xml',
  'yaml yml': 'yaml',
  'ini toml conf': 'ini',
  'sh bash zsh': 'bash',
  'c h': 'c',
  'cpp cc hpp hh cxx': 'cpp',
  'diff patch': 'diff',
  'kt kts': 'kotlin',
  'pl pm': 'perl',
  'py pyw': 'python',
  makefile: 'makefile',
  ...Object.fromEntries(
    'cs css go graphql java less lua php r rb rs scss sql swift vb'.split(' ').map((one) => [one, one]),
  ),
};
const BY_ENDING = new Map(
  Object.entries(LANGUAGES).flatMap(([endings, language]) =>
    endings.split(' ').map((ending): [string, string] => [ending, language]),
  ),
);

/** Returns the language for a file name; undefined for plain text. */
export const languageOf = (name: string) =>
  BY_ENDING.get(name.slice(Math.max(name.lastIndexOf('.'), name.lastIndexOf('/')) + 1).toLowerCase());

/** Returns the text as HTML, or undefined if rendering fails or takes too long. */
export function readable(job: ReaderJob, signal: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve) => {
    const reader = new Worker(scriptUrl(readerUrl), { type: 'module' });
    const end = (html?: string) => {
      clearTimeout(late);
      reader.terminate();
      resolve(html);
    };
    const late = setTimeout(end, LIMIT_MS);
    signal.addEventListener('abort', () => end(), { once: true });
    reader.onerror = () => end();
    reader.onmessage = ({ data }: MessageEvent<ReaderAnswer>) => end('html' in data ? data.html : undefined);
    reader.postMessage(job);
  });
}
