/** The text of the page in its current language. */
import { computed, signal } from '@preact/signals';
import type { Fault } from '../bridge/messages.ts';
import { chosenLanguage } from '../settings.ts';
import { en, type Words } from './en.ts';
import { type Language, spokenOf, type Tools, toolsOf } from './language.ts';

const spoken = signal({ language: 'en' as Language, tools: toolsOf('en'), words: en(toolsOf('en')) });

export const language = (): Language => spoken.value.language;
export const number: Tools['number'] = (count) => spoken.value.tools.number(count);

const isGroup = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Mirrors `now()` with getters. Each use reads the current words, so components re-render when the language changes. */
function live<T extends object>(now: () => T): T {
  const shown = {};
  for (const [key, value] of Object.entries(now())) {
    const read = () => now()[key as keyof T];
    const group = isGroup(value) && live(read as () => object);
    Object.defineProperty(shown, key, { enumerable: true, get: () => group || read() });
  }
  return shown as T;
}

export const text: Words = live(() => spoken.value.words);

/** Words of one lazily loaded part of the page, which brings them in all languages. */
export function wordsIn<T extends object>(languages: Record<Language, (tools: Tools) => T>): T {
  const now = computed(() => languages[spoken.value.language](spoken.value.tools));
  return live(() => now.value);
}

/** English is built into the page; other languages are loaded. */
async function wordsOf(language: Language): Promise<(tools: Tools) => Words> {
  return language === 'en' ? en : (await import('./pl.ts')).pl;
}

/**
 * Switches to the language from the settings, or else to the browser's first language that the page has. If its words
 * cannot be loaded, the language stays as it is.
 */
export async function speak(): Promise<void> {
  const choice = chosenLanguage.peek();
  const language = choice === 'auto' ? spokenOf(navigator.languages ?? []) : choice;
  const tools = toolsOf(language);
  try {
    spoken.value = { language, tools, words: (await wordsOf(language))(tools) };
  } catch (error) {
    console.warn(error);
  }
}

await speak();

/** Returns the explanation for rejected keys. */
export function aboutKeys({ stage = '' }: Fault): Words['keys'][keyof Words['keys']] {
  return stage in text.keys ? text.keys[stage as keyof Words['keys']] : text.keys.damaged;
}

/** Returns the explanation for a link that cannot be opened; undefined for other faults. */
export function aboutLink({ code, stage = '' }: Fault): Words['link'][keyof Words['link']] | undefined {
  const { link } = text;
  if (code === 'link') return link.incomplete;
  if (code === 'link-over') return stage in link ? link[stage as keyof Words['link']] : link.ended;
  return code === 'tampered' && /^(link|link-key|share|request)$/.test(stage) ? link.changed : undefined;
}

/** Returns the message for a fault. `here` overrides the meaning of statuses and codes for one form. */
export function explain(fault: Fault, here: Record<number | string, string> = {}): string {
  const { code, status = 0, message } = fault;
  const statuses: Record<number, string> = text.status;
  const codes: Record<string, string> = text.codes;
  if (code === 'api') return here[status] ?? statuses[status] ?? text.refused(message);
  const over = aboutLink(fault);
  if (over) return `${over.title}. ${over.next}`;
  if (code === 'keys') return `${aboutKeys(fault).title}. ${aboutKeys(fault).why}`;
  if (code === 'rule' || code === 'name') return sentence(text.rule(message));
  return here[code] ?? codes[code] ?? sentence(message);
}

function sentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}${message.endsWith('.') ? '' : '.'}`;
}
