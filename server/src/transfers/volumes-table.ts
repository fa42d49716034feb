import type { Volume } from '@szafa/protocol';
import type { Sql, Value } from '../platform/sql/sql.ts';

/**
 * The declared size and digest of each volume of a group, sixteen per row: an init of ten thousand volumes writes hundreds of
 * rows, and a PUT reads one. Entries have a fixed length, so that each is found by its position.
 */
const BLOCK = 16;
const DIGEST_CHARS = 64;
const SIZE_CHARS = 16;
const ENTRY_CHARS = DIGEST_CHARS + SIZE_CHARS;

/** In place of a digest that arrives only with the volume. */
const NO_DIGEST = '-'.repeat(DIGEST_CHARS);

export const entryOf = ({ size, sha256 }: Omit<Volume, 'idx'>) =>
  (sha256 || NO_DIGEST) + String(size).padStart(SIZE_CHARS, '0');

const volumeOf = (entry: string, idx: number): Volume => ({
  idx,
  size: Number(entry.slice(DIGEST_CHARS)),
  sha256: entry.startsWith('-') ? '' : entry.slice(0, DIGEST_CHARS),
});

const ROWS_AT_ONCE = 125;
const insertText = (rows: number) =>
  `INSERT INTO volume_blocks (file_id, block, entries) VALUES ${Array(rows).fill('(?, ?, ?)').join(', ')}`;
const INSERT_MANY = insertText(ROWS_AT_ONCE);
const INSERT_ONE = insertText(1);

/** Inserts all volumes of a group, which must be in order. Uses only two statement texts, so that both stay prepared. */
export async function insertVolumes(tx: Sql, fileId: string, volumes: Volume[]): Promise<void> {
  let params: Value[] = [];
  for (let from = 0; from < volumes.length; from += BLOCK) {
    const entries = volumes.slice(from, from + BLOCK).map(entryOf);
    params.push(fileId, from / BLOCK, entries.join(''));
    if (params.length === 3 * ROWS_AT_ONCE) {
      await tx.execute(INSERT_MANY, ...params);
      params = [];
    }
  }
  for (let at = 0; at < params.length; at += 3) await tx.execute(INSERT_ONE, ...params.slice(at, at + 3));
}

/** Selects one entry of a row of `volume_blocks`. `placeOf` returns its parameter and the row number. */
export const ENTRY = `substr(entries, ?, ${ENTRY_CHARS}) AS entry`;
export const placeOf = (idx: number): [start: number, block: number] => [
  ((idx - 1) % BLOCK) * ENTRY_CHARS + 1,
  Math.floor((idx - 1) / BLOCK),
];

export function parseEntry(entry: string | null | undefined, idx: number): Volume | undefined {
  return entry ? volumeOf(entry, idx) : undefined;
}

export async function findVolume(sql: Sql, fileId: string, idx: number): Promise<Volume | undefined> {
  const [start, block] = placeOf(idx);
  const text = `SELECT ${ENTRY} FROM volume_blocks WHERE file_id = ? AND block = ?`;
  const [row] = await sql.query<{ entry: string }>(text, start, fileId, block);
  return parseEntry(row?.entry, idx);
}

export async function listVolumes(sql: Sql, fileId: string): Promise<Volume[]> {
  const text = 'SELECT entries FROM volume_blocks WHERE file_id = ? ORDER BY block';
  const rows = await sql.query<{ entries: string }>(text, fileId);
  const volumes: Volume[] = [];
  for (const { entries } of rows) {
    for (let at = 0; at < entries.length; at += ENTRY_CHARS) {
      volumes.push(volumeOf(entries.slice(at, at + ENTRY_CHARS), volumes.length + 1));
    }
  }
  return volumes;
}

export async function copyVolumes(tx: Sql, from: string, to: string): Promise<void> {
  const text =
    'INSERT INTO volume_blocks (file_id, block, entries) SELECT ?, block, entries FROM volume_blocks WHERE file_id = ?';
  await tx.execute(text, to, from);
}

export async function forgetVolumes(tx: Sql, fileId: string): Promise<void> {
  await tx.execute('DELETE FROM volume_blocks WHERE file_id = ?', fileId);
  await tx.execute('DELETE FROM streamed_volumes WHERE file_id = ?', fileId);
  await tx.execute('DELETE FROM streamed_claims WHERE file_id = ?', fileId);
}
