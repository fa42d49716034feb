/** Opens an account's files: fetches headers, verifies them, and compares them with the records in lists. */
import {
  type Bytes,
  type DescribedFile,
  describeFile,
  type Engine,
  MAX_VOLUME_SIZE,
  type OpenedHeader,
  openHeader,
  type ParsedHeader,
  parseHeader,
  sealedSize,
  storedSize,
} from '@szafa/format';
import type { FileRecord } from '@szafa/protocol';
import { type Api, hasStatus } from '../../call.ts';
import { TamperedError, UnsupportedError } from '../../errors.ts';
import { readVolume, readVolumeHeaders, type VolumeAnswer, volumeReader } from '../calls.ts';
import type { OpenContext } from './context.ts';
import { nameKind, requireName, wrongNameError } from './record-name.ts';
import { RemoteFile } from './remote-file.ts';
import { openSummary, type Summary, withSummary } from './summary.ts';
import { checkCount } from './volume-fetcher.ts';

/** Up to this size, the first volume is fetched together with the header. */
const SMALL_BYTES = 1024 * 1024;

export interface OpenOptions {
  /** The file's entry in a list. Without it, the server could return another file of this account. */
  record?: FileRecord | undefined;
  /** Fetch only the header, even if the file is small. */
  headOnly?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Fetches and opens the header of a file. With a record, header and record must belong together and have the same name.
 * @throws TamperedError, UnsupportedError; ConflictError if another device renamed the file after the list was read
 */
export async function openFile(
  context: OpenContext,
  fileId: string,
  options: OpenOptions = {},
): Promise<RemoteFile> {
  const { record, headOnly, signal } = options;
  const cached = headOnly && record && (await openCached(context, record, signal));
  if (cached) return new RemoteFile(ownVolumes(context, fileId), fileId, cached);
  const remote = await openUnnamed(context, fileId, options);
  if (record) await requireName(context, record, remote.header, signal);
  return remote;
}

const ownVolumes = ({ engine, api }: OpenContext, fileId: string) => ({
  engine,
  api: volumeReader(api, fileId),
});

/** Opens a file without checking the name in the record. */
export async function openUnnamed(
  context: OpenContext,
  fileId: string,
  options: OpenOptions = {},
): Promise<RemoteFile> {
  const { api, engine, keys, headers } = context;
  const { record, signal, headOnly } = options;
  const isSmall = !headOnly && record?.chunk_count === 1 && record.size <= SMALL_BYTES;
  const answer = isSmall
    ? await readVolume(api, fileId, 1, Math.max(record.size, sealedSize(0)), { signal })
    : await readHead(api, fileId, signal);
  const parsed = parseHeader(answer.encParams);
  const header = await openHeader(engine, parsed, await keys.master(parsed.epoch, signal));
  checkCount(answer, header.layout);
  if (record) checkRecord(record, header);
  await requireRev(context, fileId, header);
  if (record && headOnly) headers?.save(record, answer.encParams);
  return new RemoteFile(ownVolumes(context, fileId), fileId, header, isSmall ? answer.body : undefined);
}

/** Throws if this device has seen a later `rev` of the file. */
export async function requireRev(
  { revs }: OpenContext,
  fileId: string,
  { metadata }: DescribedFile,
): Promise<void> {
  const older = await revs?.check(fileId, metadata.rev);
  if (older) throw older;
}

/** Returns the metadata of a file, using the cache if possible. */
export async function describe(
  context: OpenContext,
  record: FileRecord,
  signal?: AbortSignal,
): Promise<Summary> {
  const params = await context.headers?.load(record);
  const summary = params && (await openSummary(context, record, params, signal));
  if (summary) return summary;
  const cached = params && (await openIfValid(context, record, params, describeFile, signal));
  if (!cached) return (await openFile(context, record.file_id, { record, signal, headOnly: true })).header;
  context.headers?.save(record, await withSummary(context, record, params, cached));
  return cached;
}

/** Opens the cached header of a record, if there is a valid one. Verifies it like a fetched one, since others may write to the cache. */
export async function openCached(
  context: OpenContext,
  record: FileRecord,
  signal?: AbortSignal,
): Promise<OpenedHeader | undefined> {
  const params = await context.headers?.load(record);
  return params && openIfValid(context, record, params, openHeader, signal);
}

type Opener<Header> = (engine: Engine, parsed: ParsedHeader, master: Bytes) => Promise<Header>;

async function openIfValid<Header extends DescribedFile>(
  context: OpenContext,
  record: FileRecord,
  params: Record<string, unknown>,
  open: Opener<Header>,
  signal?: AbortSignal,
): Promise<Header | undefined> {
  try {
    return await openWithRecord(context, record, params, open, signal);
  } catch (error) {
    if (error instanceof TamperedError || error instanceof UnsupportedError) return undefined;
    throw error;
  }
}

/** Opens a header that the caller has fetched, and compares it with the record of its file. */
export async function openWithRecord<Header extends DescribedFile>(
  context: OpenContext,
  record: FileRecord,
  params: Record<string, unknown>,
  open: Opener<Header>,
  signal?: AbortSignal,
): Promise<Header> {
  const parsed = parseHeader(params);
  const header = await open(context.engine, parsed, await context.keys.master(parsed.epoch, signal));
  checkRecord(record, header);
  await requireRev(context, record.file_id, header);
  if ((await nameKind(context, record, header)) === 'other') throw wrongNameError();
  return header;
}

/** Fetches the header of a file. */
export async function readHead(
  api: Api,
  fileId: string,
  signal: AbortSignal | undefined,
): Promise<VolumeAnswer> {
  try {
    return await readVolumeHeaders(api, fileId, 1, { signal });
  } catch (error) {
    // The specification requires only GET. Read the volume if the server does not support HEAD.
    if (!hasStatus(error, 405, 501)) throw error;
    return readVolume(api, fileId, 1, sealedSize(MAX_VOLUME_SIZE), { signal });
  }
}

/** @throws TamperedError at stage `record` if record and header belong to different files */
export function checkRecord(
  record: FileRecord,
  { layout, totalSha256: total }: Pick<DescribedFile, 'layout' | 'totalSha256'>,
): void {
  const isSame =
    record.sha256 === total && record.chunk_count === layout.count && record.size === storedSize(layout);
  if (!isSame) throw new TamperedError('record', 'the header and the record belong to different files');
}
