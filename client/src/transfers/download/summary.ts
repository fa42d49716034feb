import {
  type DescribedFile,
  type Engine,
  fromUtf8,
  KNOWN_FIELDS,
  labels,
  openShort,
  padText,
  sealShort,
  utf8,
} from '@szafa/format';
import type { FileRecord } from '@szafa/protocol';
import type { Keys } from '../../accounts/keys.ts';
import type { SeenRevs } from '../../files/seen-revs.ts';

/** What a header says, as far as a list of versions goes. */
export type Summary = Pick<DescribedFile, 'fileId' | 'metadata'>;

interface Context {
  engine: Engine;
  keys: Keys;
  revs?: SeenRevs | undefined;
}

/** Beside enc_params in the cache. */
const KEY = 'summary';

const boundTo = ({ file_id, file_name, sha256, size, chunk_count }: FileRecord) =>
  JSON.stringify([file_id, file_name, sha256, size, chunk_count, KNOWN_FIELDS]);

/**
 * A header that was opened and found to belong to this record, for the cache. It needs no key of its own then: to read it again takes a
 * third of the time, and a folder that is put once more asks for thousands.
 */
export async function withSummary(
  { engine, keys }: Context,
  record: FileRecord,
  params: Record<string, unknown>,
  { fileId, metadata }: Summary,
): Promise<Record<string, unknown>> {
  const { key } = await keys.current();
  const text = JSON.stringify({ of: boundTo(record), fileId: fileId.toHex(), metadata });
  return { ...params, [KEY]: await sealShort(engine, key, labels.summary, padText(utf8(text))) };
}

/** Undefined where there is none, or one of another record, of before the newest master key, or of a client that knows other fields. */
export async function openSummary(
  { engine, keys, revs }: Context,
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
