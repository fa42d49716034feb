/** The languages of the page, and what their words are made with. */
import { SECRET_CHARS } from '@szafa/client/strength';

/** By their own names. */
export const LANGUAGES = { en: 'English', pl: 'Polski' };
export type Language = keyof typeof LANGUAGES;

/** The first of these that the page speaks, as a browser lists what its user reads: "pl-PL" is Polish. */
export function spokenOf(wishes: readonly string[]): Language {
  for (const wish of wishes) {
    const found = wish.toLowerCase().split('-')[0]!;
    if (Object.hasOwn(LANGUAGES, found)) return found as Language;
  }
  return 'en';
}

/** The forms of a word after a number, by the names of Intl.PluralRules; each language has some of them. */
export type Forms = { other: string } & Partial<Record<Intl.LDMLPluralRule, string>>;

/** What a language needs beside its words. It imports nothing of the page: it is loaded before the page is there. */
export interface Tools {
  number(count: number): string;
  /** A number with what is counted. */
  plural(count: number, forms: Forms): string;
  /** How long a password may be. */
  secret: typeof SECRET_CHARS;
}

export function toolsOf(language: Language): Tools {
  const rules = new Intl.PluralRules(language);
  const numbers = new Intl.NumberFormat(language);
  const number = (count: number) => numbers.format(count);
  return {
    number,
    plural: (count, forms) => `${number(count)} ${forms[rules.select(count)] ?? forms.other}`,
    secret: SECRET_CHARS,
  };
}
