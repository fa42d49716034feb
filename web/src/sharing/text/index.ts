/** Words for what accounts share with each other, in the language of the page. Few visits need them: they come with their parts. */
import type { Fault } from '../../core/bridge/messages.ts';
import { explain, wordsIn } from '../../core/text/index.ts';
import { en, type SharingWords } from './en.ts';
import { pl } from './pl.ts';

const BROKEN = new Set(['tampered', 'keys', 'link']);

export const words: SharingWords = wordsIn({ en, pl });

/** What the failures of accounts that share mean. */
export const here = (): Record<number | string, string> => ({ ...words.codes, 429: words.tooOften });

/** Of a share that opens nothing. */
export function explainShare(from: string, fault: Fault): string {
  const { code, stage = '' } = fault;
  const { received } = words;
  if (code === 'contact-changed') return received.changed(from);
  if (code === 'unsupported') return received.unsupported;
  if (code === 'link-over')
    return stage in received.over ? received.over[stage as keyof typeof received.over] : received.over.ended;
  // A letter, keys or a list of files that nobody could have made who is who they say.
  return BROKEN.has(code) ? received.broken(from) : explain(fault, here());
}
