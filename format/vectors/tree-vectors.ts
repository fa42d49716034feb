/** Vectors of paths and versions: what they look like, and what the client makes of them. */
import type { Entry } from '../../client/src/files/listing.ts';
import { newestFirst, tieOf } from '../../client/src/files/newest.ts';
import { pathIn } from '../../client/src/files/tree.ts';

/** Files of one path, as their headers describe them. */
export interface VersionVector {
  name: string;
  /** `id`: of the record; `file_id` (hex), `gen` and `added`: of the header. */
  versions: { id: string; file_id: string; gen: number; added: number }[];
  /** The ids of the records, newest first. */
  expect: string[];
}

export type PathVector =
  /** A path out of the metadata, and the parts that a reader makes of it. */
  | { kind: 'parts'; name: string; path: string; expect: string[] }
  /** A name on a disk (hex), and the text of it. */
  | { kind: 'bytes'; name: string; bytes: string; expect: string };

export function runVersions({ versions }: VersionVector): string[] {
  const ranked = versions.map(({ id, file_id, gen, added }) => {
    return { id, gen, added, tie: tieOf(Uint8Array.fromHex(file_id), { file_id: id }) };
  });
  return ranked.toSorted(newestFirst).map(({ id }) => id);
}

/** The client calls a file without any part `unnamed`, and shows a slash in a name as another character. */
export function runParts(path: string): string[] {
  const parts = pathIn({ path, verified: true } as Entry).split('/');
  if (parts[0] === 'unnamed' && !path.includes('unnamed')) return [];
  return parts.map((part) => part.replaceAll('⧸', '/'));
}
