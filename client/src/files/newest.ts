import type { FileRecord } from '@szafa/protocol';
import type { Age } from './listing.ts';

type Ranked = Pick<Age, 'gen' | 'added' | 'tie'>;

/**
 * Orders files of one path with the same `gen` and `added`: by the id in the header, then by the record's id, since copies share a header
 * id.
 */
export const tieOf = (fileId: Uint8Array, { file_id }: Pick<FileRecord, 'file_id'>) =>
  `${fileId.toHex()} ${file_id}`;

/** Compares files of one path by age. */
export const newestFirst = (a: Ranked, b: Ranked) =>
  b.gen - a.gen || b.added - a.added || compare(b.tie ?? '', a.tie ?? '');

const compare = (a: string, b: string) => (a === b ? 0 : a < b ? -1 : 1);
