/** Which names somebody means who types a part of them: accents, large and small letters do not matter. */

/** Letters that Unicode does not take apart into a letter and its mark. */
const PLAIN: Record<string, string> = {
  ł: 'l',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  ħ: 'h',
  ı: 'i',
  ŧ: 't',
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  þ: 'th',
};
const UNPLAIN = new RegExp(`[${Object.keys(PLAIN).join('')}]`, 'g');
const ASCII = /^[\x00-\x7f]*$/;

/** A text without what is ignored. */
export function fold(text: string): string {
  const small = text.toLowerCase();
  if (ASCII.test(small)) return small;
  return small
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(UNPLAIN, (letter) => PLAIN[letter]!);
}

/** For what was typed: whether a path has all its words, in any order. Paths are folded once and remembered. */
export function matcher(typed: string): (path: string) => boolean {
  const words = fold(typed).split(/\s+/).filter(Boolean);
  return (path) => {
    const folded = remembered(path);
    return words.every((word) => folded.includes(word));
  };
}

const MOST = 100_000;
const known = new Map<string, string>();

function remembered(path: string): string {
  const found = known.get(path);
  if (found !== undefined) return found;
  if (known.size >= MOST) known.clear();
  const folded = fold(path);
  known.set(path, folded);
  return folded;
}

/** Paths are nobody's business after a sign-out. */
export function forgetSearch(): void {
  known.clear();
}
