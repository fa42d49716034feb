import { cleanFileName } from '@szafa/protocol';

/**
 * Control characters, and characters that reverse or hide text: they could control a terminal or deceive a reader. Joiners are allowed
 * where spelling needs them: in Persian or Hindi, and in emoji.
 */
const UNSHOWABLE =
  /[\p{Cc}\p{Co}\p{Cs}\u2028\u2029]|(?![\u200c\u200d])\p{Cf}|(?<!\ufe0f|[^\p{ASCII}\p{Cf}\p{sc=Zinh}\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}])[\u200c\u200d]/gu;
const SEGMENT_BYTES = 255;
/** Reserves space for a number in brackets. */
const ROOM_BYTES = 10;

/** Makes a name safe to show. A web page must still insert it as text, not as HTML. @public */
export function displayName(name: string): string {
  return name.toWellFormed().replace(UNSHOWABLE, '\ufffd');
}

/** Returns a plain name as the server would store it; undefined if nothing would be left of it. @public */
export function plainNameOf(name: string): string | undefined {
  try {
    return cleanFileName(name);
  } catch {
    return undefined; // cleanFileName rejects only an empty name
  }
}

/**
 * Splits a name into a safe relative path: never empty, never outside the folder, nothing that a disk or a terminal would misread.
 * @public
 */
export function safeSegments(name: string): string[] {
  const segments = name
    .split('/')
    .map((segment) => displayName(segment).replaceAll('\\', '_'))
    .filter((segment) => segment.trim() !== '' && !/^\.+$/.test(segment))
    .map((segment) => shorten(segment));
  return segments.length > 0 ? segments : ['unnamed'];
}

/** Shortens a segment so that it fits on every disk even after a number is added. @public */
export const withRoom = (segment: string) => shorten(segment, SEGMENT_BYTES - ROOM_BYTES);

/**
 * Maps names to the same text if some disk, such as FAT, treats them as equal: case, spelling, invisible characters, trailing dots and
 * spaces. @public
 */
export function alike(name: string): string {
  // Lower case first: otherwise the capital sharp s does not become SS.
  return name
    .replace(/\p{DI}/gu, '')
    .replace(/(?<![. ])[. ]+$/, '')
    .normalize('NFKD')
    .toLowerCase()
    .toUpperCase();
}

/** Shortens a segment but keeps its extension. */
function shorten(segment: string, most = SEGMENT_BYTES): string {
  // Encodes only the part that fits: a name from a link may have millions of characters.
  const fitting = (text: string, bytes: number) =>
    text.slice(0, new TextEncoder().encodeInto(text, new Uint8Array(bytes)).read);
  if (fitting(segment, most) === segment) return segment;
  const extension = /\.[A-Za-z0-9]{1,10}$/.exec(segment)?.[0] ?? '';
  return fitting(segment.slice(0, segment.length - extension.length), most - extension.length) + extension;
}

/** Letters that Unicode does not decompose. */
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
const BEYOND_ASCII = /[^\x00-\x7f]/gu;
/** Caches folded letters: a search folds ten thousand names on every keystroke. */
const folded = new Map<string, string>();
const MOST_FOLDED = 10_000;

function foldLetter(letter: string): string {
  const known = folded.get(letter);
  if (known !== undefined) return known;
  if (folded.size >= MOST_FOLDED) folded.clear();
  const parts = letter.normalize('NFKD').replace(/\p{M}/gu, '');
  const plain = parts.replace(UNPLAIN, (part) => PLAIN[part]!);
  folded.set(letter, plain);
  return plain;
}

/** Normalises a name for a search that ignores accents and case. @public */
export function fold(text: string): string {
  return text.toLowerCase().replace(BEYOND_ASCII, foldLetter);
}
