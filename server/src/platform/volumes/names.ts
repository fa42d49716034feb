import { limits } from '@szafa/protocol';
import type { VolumeName } from './store.ts';

/** Safe as a file name and as part of an S3 key. */
const NAME = /^(0|[1-9][0-9]{0,5})-([0-9a-f]{64})$/;
const DIGEST_CHARS = 64;

/** The name of a volume in its group; undefined for an impossible number or digest. */
export function nameOf({ idx, sha256 }: VolumeName): string | undefined {
  const name = `${idx}-${sha256}`;
  return idx <= limits.volumesPerFile && NAME.test(name) ? name : undefined;
}

/** Like `nameOf`, for a volume to be stored: throws instead. */
export function newName(volume: VolumeName): string {
  const name = nameOf(volume);
  if (name === undefined) throw new TypeError('not a volume number and a digest');
  return name;
}

/** Parses a name; undefined for files that are not volumes. */
export function volumeNamed(name: string): VolumeName | undefined {
  const [, idx, sha256] = NAME.exec(name) ?? [];
  if (sha256 === undefined || Number(idx) > limits.volumesPerFile) return undefined;
  return { idx: Number(idx), sha256 };
}

/** Returns the numbers of the volumes among these names, unique and ascending, without 0 (the thumbnail). */
export function numbersOf(names: Iterable<string>): number[] {
  // Faster than sorting ten thousand numbers.
  const here = new Uint8Array(limits.volumesPerFile + 1);
  let last = 0;
  for (const name of names) {
    const idx = numberOf(name);
    here[idx] = 1;
    if (idx > last) last = idx;
  }
  const numbers: number[] = [];
  for (let idx = 1; idx <= last; idx++) if (here[idx]) numbers.push(idx);
  return numbers;
}

/**
 * Returns the number in a name; 0 for a thumbnail or any other file. Faster than the pattern, since a complete reads ten
 * thousand names.
 */
function numberOf(name: string): number {
  const end = name.length - DIGEST_CHARS - 1;
  if (end < 1 || name[end] !== '-') return 0;
  let number = 0;
  for (let at = 0; at < end; at++) {
    const digit = name.charCodeAt(at) - 48;
    if (digit < 0 || digit > 9) return 0;
    number = number * 10 + digit;
  }
  return number <= limits.volumesPerFile ? number : 0;
}
