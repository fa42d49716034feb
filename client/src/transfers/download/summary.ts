import {
  type DescribedFile,
  fromUtf8,
  KNOWN_FIELDS,
  labels,
  openShort,
  padText,
  sealShort,
  utf8,
} from '@szafa/format';
import type { FileRecord } from '@szafa/protocol';
import type { OpenContext } from './context.ts';

/** The part of a header that a list of versions needs. */
export type Summary = Pick<DescribedFile, 'fileId' | 'metadata'>;

/** The member of the cached enc_params that holds the summary. */
const KEY = 'summary';

const boundTo = ({ file_id, file_name, sha256, size, chunk_count }: FileRecord) =>
  JSON.stringify([file_id, file_name, sha256, size, chunk_count, KNOWN_FIELDS]);

/**
 * Adds the summary of a verified header to its enc_params in the cache. Opening a summary takes a third of the time of opening a header,
 * and uploading a folder again opens thousands.
 */
export async function withSummary(
  { engine, keys }: OpenContext,
  record: FileRecord,
  params: Record<string, unknown>,
  { fileId, metadata }: Summary,
): Promise<Record<string, unknown>> {
  const { key } = await keys.current();
  const text = JSON.stringify({ of: boundTo(record), fileId: fileId.toHex(), metadata });
  return { ...params, [KEY]: await sealShort(engine, key, labels.summary, padText(utf8(text))) };
}

/** Returns undefined if there is no summary, or if it was made for another record, master key or set of metadata fields. */
export async function openSummary(
  { engine, keys, revs }: OpenContext,
  record: FileRecord,
  params: Record<string, unknown>,
  signal?: AbortSignal,
): Promise<Summary | undefined> {
  const sealed = params[KEY];
  if (typeof sealed !== 'string') return undefined;
  const { key } = await keys.current(signal);
  const text = await openShort(engine, key, labels.summary, sealed);
  if (!text) return undefined;
  const { of, fileId, metadata } = JSON.parse(fromUtf8(text)) as Summary & { of: string; fileId: string };
  if (of !== boundTo(record) || (await revs?.check(record.file_id, metadata.rev))) return undefined;
  return { fileId: Uint8Array.fromHex(fileId), metadata };
}
