/** Checks that the name in a file's record, as listed by the server, matches the name in its header. */
import {
  type Bytes,
  type DescribedFile,
  type ListedName,
  openFileName,
  sealFileName,
  storedSize,
} from '@szafa/format';
import type { FileRecord } from '@szafa/protocol';
import type { Api } from '../../call.ts';
import { ConflictError, TamperedError } from '../../errors.ts';
import { eachFile } from '../../files/calls.ts';
import { plainNameOf } from '../../files/display-names.ts';
import { belowFirst } from '../../files/paths.ts';
import { unlessAborted } from '../../pool.ts';
import type { OpenContext } from './context.ts';

const openedNames = new WeakMap<FileRecord, { master: Bytes; name: ListedName; at: number }>();

/** Remembers the opened name of a record, so that `nameKind` need not seal the name again to compare. */
export function noteName(record: FileRecord, master: Bytes, name: ListedName): void {
  openedNames.set(record, { master, name, at: performance.now() });
}

function isNoted(record: FileRecord, master: Bytes, metadata: ListedName): boolean {
  const noted = openedNames.get(record);
  if (noted?.master !== master) return false;
  const { name, rev, gen, added } = noted.name;
  return name === metadata.name && rev === metadata.rev && gen === metadata.gen && added === metadata.added;
}

const bindingOf = ({ layout, totalSha256 }: DescribedFile) => ({
  totalSha256,
  storedSize: storedSize(layout),
  count: layout.count,
});

/**
 * Compares the name in a record with the header. Returns whether it is the header's sealed name, its plain name, or another name.
 * @param accepted a retired master key that the owner has accepted
 */
export async function nameKind(
  { engine, keys }: OpenContext,
  record: FileRecord,
  header: DescribedFile,
  accepted?: Bytes,
): Promise<'sealed' | 'plain' | 'other'> {
  const { epoch, metadata } = header;
  const master = accepted ?? (await keys.master(epoch));
  if (isNoted(record, master, metadata)) return 'sealed';
  // Sealing is deterministic, so there is only one correct text.
  if (record.file_name === (await sealFileName(engine, master, metadata, bindingOf(header)))) return 'sealed';
  // A plain name may lack the first segment of the path, which the directory represents.
  const plain = [metadata.name, belowFirst(metadata.name)].map(plainNameOf);
  return plain.includes(record.file_name) ? 'plain' : 'other';
}

export const wrongNameError = () =>
  new TamperedError('name', 'the name in the list is not the name of this file');

/** The names of all files, and when that list was started. */
interface NameList {
  began: number;
  byId: Promise<Map<string, string>>;
}

const nameLists = new WeakMap<Api, NameList>();

/** Lists all names, or returns a list that was started since then. Takes no signal because many renamed files share the list. */
function namesSince(api: Api, since: number): Promise<Map<string, string>> {
  const known = nameLists.get(api);
  if (known && known.began >= since) return known.byId;
  const byId = Array.fromAsync(
    eachFile(api, 'listFiles'),
    ({ file_id, file_name }) => [file_id, file_name] as const,
  ).then((names) => new Map(names));
  const list = { began: performance.now(), byId };
  nameLists.set(api, list);
  byId.catch(() => {
    if (nameLists.get(api) === list) nameLists.delete(api);
  });
  return byId;
}

/** Drops the cached names. Call it when listing all files: the new records would be newer than the cached names. */
export const forgetNames = (api: Api) => void nameLists.delete(api);

/**
 * Accepts a record with the current name of the file, or with an earlier `rev` of the name at the same path.
 * @throws ConflictError if another device has renamed the file since; otherwise TamperedError at stage `name`
 */
export async function requireName(
  context: OpenContext,
  record: FileRecord,
  header: DescribedFile,
  signal?: AbortSignal,
): Promise<void> {
  if ((await nameKind(context, record, header)) !== 'other') return;
  const wrong = await explainWrongName(context, record, header, signal);
  if (!(wrong instanceof ConflictError && (await hadName(context, record, header)))) throw wrong;
}

/**
 * Whether the record's name differs only by an earlier `rev`: the header was resealed since, at the same path. False for a truncated
 * name.
 */
export async function hadName(
  { engine, keys }: OpenContext,
  record: FileRecord,
  header: DescribedFile,
): Promise<boolean> {
  const { metadata } = header;
  for (const { key } of await keys.masters()) {
    const was = await openFileName(engine, key, record.file_name, bindingOf(header));
    if (!was) continue;
    const { name, gen, added } = metadata;
    const isSame = was.whole && was.name === name && was.gen === gen && was.added === added;
    return isSame && was.rev < metadata.rev;
  }
  return false;
}

/**
 * Distinguishes a renaming by another device from tampering. After a renaming, the record has an earlier `rev`, and a fresh list has
 * another name.
 */
async function explainWrongName(
  { engine, api, keys }: OpenContext,
  record: FileRecord,
  header: DescribedFile,
  signal?: AbortSignal,
): Promise<ConflictError | TamperedError> {
  const { metadata } = header;
  const opened = (await keys.allMasters(signal)).map(({ key }) =>
    openFileName(engine, key, record.file_name, bindingOf(header)),
  );
  const was = (await Promise.all(opened)).find((name) => name !== undefined);
  if (!was || was.rev >= metadata.rev) return wrongNameError();
  const now = performance.now();
  // The first list may be older than the new name. If it still has the old name, a fresh list decides.
  for (const since of [openedNames.get(record)?.at ?? now, now]) {
    const name = (await unlessAborted(namesSince(api, since), signal)).get(record.file_id);
    if (name !== record.file_name) return new ConflictError([metadata.name]);
  }
  return wrongNameError();
}
