/** The text for sharing with accounts and for file requests, in the language of the page. */
import type { Fault } from '../../core/bridge/messages.ts';
import { explain, wordsIn } from '../../core/text/index.ts';
import { en, type SharingWords } from './en.ts';
import { pl } from './pl.ts';

const BROKEN = new Set(['tampered', 'keys', 'link']);

export const words: SharingWords = wordsIn({ en, pl });

/** Messages by HTTP status or error code, for calls about sharing. */
export const here = (): Record<number | string, string> => ({ ...words.codes, 429: words.tooOften });

/** Explains why a received share cannot be opened. */
export function explainShare(from: string, fault: Fault): string {
  const { code, stage = '' } = fault;
  const { received } = words;
  if (code === 'contact-changed') return received.changed(from);
  if (code === 'unsupported') return received.unsupported;
  if (code === 'link-over')
    return stage in received.over ? received.over[stage as keyof typeof received.over] : received.over.ended;
  // These codes mean that the letter, the keys or the list of files cannot come from the named sender.
  return BROKEN.has(code) ? received.broken(from) : explain(fault, here());
}
