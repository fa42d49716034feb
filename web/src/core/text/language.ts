/** The languages of the page, with their number and plural formats. */
import { SECRET_CHARS } from '@szafa/client/strength';

/** Languages under their own names. */
export const LANGUAGES = { en: 'English', pl: 'Polski' };
export type Language = keyof typeof LANGUAGES;

/** Returns the first of the browser's preferred languages that the page has: "pl-PL" is Polish. */
export function spokenOf(wishes: readonly string[]): Language {
  for (const wish of wishes) {
    const found = wish.toLowerCase().split('-')[0]!;
    if (Object.hasOwn(LANGUAGES, found)) return found as Language;
  }
  return 'en';
}

/** Plural forms by the categories of Intl.PluralRules. Each language uses some of them. */
export type Forms = { other: string } & Partial<Record<Intl.LDMLPluralRule, string>>;

/** Helpers passed to the words of a language: the words load before the page, so they must not import from it. */
export interface Tools {
  number(count: number): string;
  /** Formats a number with the counted noun: "3 files". */
  plural(count: number, forms: Forms): string;
  /** Minimum and maximum length of a password. */
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
