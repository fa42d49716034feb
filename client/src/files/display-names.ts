import { cleanFileName } from '@szafa/protocol';

/**
 * Control characters, and those that turn or hide text: a name must not speak to a terminal or lie to a reader. Joiners are none of these
 * where they are spelling: in Persian or Hindi, and between pictures that become one.
 */
const UNSHOWABLE =
  /[\p{Cc}\p{Co}\p{Cs}\u2028\u2029]|(?![\u200c\u200d])\p{Cf}|(?<!\ufe0f|[^\p{ASCII}\p{Cf}\p{sc=Zinh}\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}])[\u200c\u200d]/gu;
const SEGMENT_BYTES = 255;
/** For a number in brackets. */
const ROOM_BYTES = 10;

/** A name as it may be shown. In a page it still has to be set as text, not as HTML. @public */
export function displayName(name: string): string {
  return name.toWellFormed().replace(UNSHOWABLE, '\ufffd');
}

/** A name as the service keeps it where it is not sealed; undefined where nothing of it would be left. @public */
export function plainNameOf(name: string): string | undefined {
  try {
    return cleanFileName(name);
  } catch {
    return undefined; // the one rule it can break: an empty name
  }
}

/**
 * A name as a relative path below some folder: never empty, never outside, no segment that a file system or a
 * terminal would take as something else. @public
 */
export function safeSegments(name: string): string[] {
  const segments = name
    .split('/')
    .map((segment) => displayName(segment).replaceAll('\\', '_'))
    .filter((segment) => segment.trim() !== '' && !/^\.+$/.test(segment))
    .map((segment) => shorten(segment));
  return segments.length > 0 ? segments : ['unnamed'];
}

/** A segment that can get a number, and be written on every disk then, too. @public */
export const withRoom = (segment: string) => shorten(segment, SEGMENT_BYTES - ROOM_BYTES);

/** The same for a disk that knows neither case, nor the spellings of one letter, nor signs that nobody sees, nor dots and blanks at the end, as FAT. @public */
export function alike(name: string): string {
  // By way of small letters: the large sharp s is none that becomes SS.
  return name
    .replace(/\p{DI}/gu, '')
    .replace(/(?<![. ])[. ]+$/, '')
    .normalize('NFKD')
    .toLowerCase()
    .toUpperCase();
}

/** Keeps the extension, which says what the file is. */
function shorten(segment: string, most = SEGMENT_BYTES): string {
  // Only what fits is looked at: a name out of a link may have millions of letters.
  const fitting = (text: string, bytes: number) =>
    text.slice(0, new TextEncoder().encodeInto(text, new Uint8Array(bytes)).read);
  if (fitting(segment, most) === segment) return segment;
  const extension = /\.[A-Za-z0-9]{1,10}$/.exec(segment)?.[0] ?? '';
  return fitting(segment.slice(0, segment.length - extension.length), most - extension.length) + extension;
}

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
const BEYOND_ASCII = /[^\x00-\x7f]/gu;
/** Letter by letter, which says nothing about any name: to find one takes less than to fold it, and a list folds ten thousand names at a key. */
const folded = new Map<string, string>();
const MOST_FOLDED = 10_000;

/** What a letter is taken apart into are letters, and marks that go: its neighbours change nothing. */
function foldLetter(letter: string): string {
  const known = folded.get(letter);
  if (known !== undefined) return known;
  if (folded.size >= MOST_FOLDED) folded.clear();
  const parts = letter.normalize('NFKD').replace(/\p{M}/gu, '');
  const plain = parts.replace(UNPLAIN, (part) => PLAIN[part]!);
  folded.set(letter, plain);
  return plain;
}

/** A name as it is looked for: accents, large and small letters do not matter. @public */
export function fold(text: string): string {
  return text.toLowerCase().replace(BEYOND_ASCII, foldLetter);
}
