/** Files as the service has them, in the trash or not, and new headers and names for them. */

import { type Bytes, type ResealedHeader, sealFileName, utf8 } from '@szafa/format';
import { encodeEncParams, type FileRecord, type NamesBody } from '@szafa/protocol';
import type { OpenContext } from '../transfers/download/context.ts';
import { eachFile, renameFiles } from './calls.ts';

/** A file where the service has it. */
export interface StoredFile {
  record: FileRecord;
  inTrash: boolean;
}

type Renamed = NamesBody['files'][number];

/** A file that was sealed again, for the service to take. */
export interface ResealedFile extends Pick<StoredFile, 'inTrash'> {
  renamed: Renamed;
  /** Of the new name. */
  rev: number;
}

/** The trash is read before and after the files: one that goes there, or comes back, in between is in one of the lists. */
export async function allFiles(
  { api }: OpenContext,
  signal?: AbortSignal,
  isWanted: (record: FileRecord) => boolean = () => true,
): Promise<StoredFile[]> {
  const found = new Map<string, StoredFile>();
  const look = async (records: AsyncIterable<FileRecord>, inTrash: boolean) => {
    for await (const record of records) if (isWanted(record)) found.set(record.file_id, { record, inTrash });
  };
  await look(eachFile(api, 'listTrash', { signal }), true);
  await look(eachFile(api, 'listFiles', { signal }), false);
  await look(eachFile(api, 'listTrash', { signal }), true);
  return [...found.values()];
}

/** What replaces the header with the text `before`; the name stays plain where it is (`kind`). */
export async function replacing(
  { engine }: OpenContext,
  { record, inTrash }: StoredFile,
  before: string,
  { encParams, metadata }: ResealedHeader,
  { kind, master }: { kind: 'sealed' | 'plain'; master: Bytes },
): Promise<ResealedFile> {
  const binding = { totalSha256: record.sha256, storedSize: record.size, count: record.chunk_count };
  const renamed = {
    file_id: record.file_id,
    file_name: kind === 'sealed' ? await sealFileName(engine, master, metadata, binding) : record.file_name,
    enc_params: encodeEncParams(encParams),
    match: (await engine.sha256(utf8(before))).toHex(),
  };
  return { renamed, inTrash, rev: metadata.rev };
}

/** The files of the batch that were not as this client saw them; all others have their new names. */
export async function renameAll(
  context: OpenContext,
  sealed: ResealedFile[],
  signal?: AbortSignal,
): Promise<Set<string>> {
  const refused = new Set<string>();
  for (const there of [false, true]) {
    const files = sealed.filter(({ inTrash }) => inTrash === there).map(({ renamed }) => renamed);
    for (const id of await renameIn(context, files, there, signal)) refused.add(id);
  }
  return refused;
}

async function renameIn(
  { api }: OpenContext,
  files: Renamed[],
  inTrash: boolean,
  signal?: AbortSignal,
): Promise<Set<string>> {
  const refused = new Set<string>();
  for (let left = files; left.length > 0; ) {
    const body = { files: left, ...(inTrash && { in_trash: true }) };
    const changed = new Set(await renameFiles(api, body, { signal }));
    if (changed.size === 0) break;
    const rest = left.filter(({ file_id }) => !changed.has(file_id));
    // A service that names none of them would be asked for ever.
    const named = rest.length < left.length ? left.filter(({ file_id }) => changed.has(file_id)) : left;
    for (const { file_id } of named) refused.add(file_id);
    left = rest.length < left.length ? rest : [];
  }
  return refused;
}
