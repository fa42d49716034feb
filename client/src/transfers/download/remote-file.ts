/** A file on the service, opened. One file: every way to read it goes through the same checks, which must be seen together. */

import {
  type Bytes,
  type DescribedFile,
  describeFile,
  type Engine,
  equal,
  extentOf,
  type FileSecrets,
  HEAD_BYTES,
  type Layout,
  type ListedName,
  largestVolume,
  MAX_VOLUME_SIZE,
  type Metadata,
  type OpenedHeader,
  type OpenedVolume,
  openFileName,
  openHead,
  openHeader,
  openSegment,
  openVolume,
  type ParsedHeader,
  parseHeader,
  SEGMENT_SIZE,
  sealedSize,
  sealFileName,
  segmentOf,
  segmentsIn,
  storedSize,
  type VolumeKey,
  type VolumePlace,
  volumeAt,
} from '@szafa/format';
import { DIGEST_BYTES, type FileRecord } from '@szafa/protocol';
import type { Keys } from '../../accounts/keys.ts';
import type { Api, ByteRange, VolumeOptions } from '../../call.ts';
import { ApiError, ConflictError, TamperedError, TooLongError, UnsupportedError } from '../../errors.ts';
import { eachFile } from '../../files/calls.ts';
import { plainNameOf } from '../../files/display-names.ts';
import { belowFirst } from '../../files/paths.ts';
import type { SeenRevs } from '../../files/seen-revs.ts';
import { concurrencyFor, unlessAborted } from '../../pool.ts';
import type { VolumeAnswer } from '../calls.ts';
import { readVolume, readVolumeHeaders, volumeReader } from '../calls.ts';
import type { HeaderCache } from './header-cache.ts';
import { inRoom } from './room.ts';
import { openSummary, type Summary, withSummary } from './summary.ts';
import { VolumeDigests } from './volume-digests.ts';

export interface ReadOptions {
  signal?: AbortSignal | undefined;
  /** Ciphertext bytes as they arrive; negative when an attempt is taken back. */
  onBytes?: ((bytes: number) => void) | undefined;
}

/** How far a download is. @public */
export interface DownloadProgress {
  done: number;
  total: number;
}

export interface StreamOptions {
  signal?: AbortSignal | undefined;
  /** Volumes fetched ahead. */
  parallel?: number | undefined;
  onProgress?: ((progress: DownloadProgress) => void) | undefined;
}

/** Where the volumes of a file come from: the owner's, or what somebody shares. */
export interface VolumeReader {
  readVolume(
    fileId: string,
    idx: number,
    maxBytes: number,
    options?: VolumeOptions & { range?: ByteRange | undefined },
  ): Promise<Pick<VolumeAnswer, 'chunkCount' | 'isRange' | 'body'>>;
  /** The digests of all volumes, one behind the other. */
  readDigests(fileId: string): Promise<Uint8Array>;
}

/** What is known of a file that can be read. What only its owner knows may be absent. @public */
export interface ReadableHeader extends FileSecrets {
  layout: Layout;
  totalSha256: string;
  metadata: Omit<Metadata, OwnersOnly> & Partial<Pick<Metadata, OwnersOnly>>;
}
type OwnersOnly = 'rev' | 'gen' | 'added';

export interface OpenContext {
  api: Api;
  engine: Engine;
  keys: Keys;
  headers?: HeaderCache | undefined;
  revs?: SeenRevs | undefined;
}

const PARALLEL = 4;
/** What is passed on at a time: little enough that memory is small, much enough that a message for each costs little. @public */
export const PIECE_SIZE = 1024 * 1024;
/** Of a volume that is verified for a part of it, fetched at a time: 4 MiB. */
const SEGMENTS_AT_ONCE = 16;
/** Volumes whose segment digests are kept: up to 128 KiB for each, whatever the size of the file. */
const MOST_KNOWN_VOLUMES = 64;
/** Up to this size the first volume is fetched together with the header. */
const AT_ONCE = 1024 * 1024;

/** A part of a volume's plaintext that is wanted: where it begins, and the memory that it goes into. */
interface Part {
  from: number;
  target: Uint8Array;
}

/** The caller's own files. */
const ownVolumes = ({ engine, api }: OpenContext) => ({ engine, api: volumeReader(api) });

const digestAt = (digests: Uint8Array, j: number) =>
  digests.subarray(j * DIGEST_BYTES, (j + 1) * DIGEST_BYTES) as Bytes;

export interface OpenOptions {
  /** The file's entry in the list; without one the service chooses which of the owner's files it gives. */
  record?: FileRecord | undefined;
  /** Fetch no volume, however small. */
  headOnly?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

/** Fetches and opens the header of a file; with its record (from a listing) the two are held together, name included. */
export async function openFile(
  context: OpenContext,
  fileId: string,
  options: OpenOptions = {},
): Promise<RemoteFile> {
  const { record, headOnly, signal } = options;
  const kept = headOnly && record && (await openKept(context, record, signal));
  if (kept) return new RemoteFile(ownVolumes(context), fileId, kept);
  const remote = await openUnnamed(context, fileId, options);
  if (record) await requireName(context, record, remote.header, signal);
  return remote;
}

/** The same, without a look at the record's name. */
export async function openUnnamed(
  context: OpenContext,
  fileId: string,
  options: OpenOptions = {},
): Promise<RemoteFile> {
  const { api, headers } = context;
  const { record, signal, headOnly } = options;
  const small = !headOnly && record?.chunk_count === 1 && record.size <= AT_ONCE;
  const answer = small
    ? await readVolume(api, fileId, 1, Math.max(record.size, sealedSize(0)), { signal })
    : await readHead(api, fileId, signal);
  const header = await openParams(context, answer.encParams, signal);
  checkCount(answer, header.layout);
  if (record) checkRecord(record, header);
  const older = await context.revs?.check(fileId, header.metadata.rev);
  if (older) throw older;
  if (record && headOnly) headers?.save(record, answer.encParams);
  return new RemoteFile(ownVolumes(context), fileId, header, small ? answer.body : undefined);
}

/** What the file is, as far as its header: for whoever reads no volume. */
export async function describe(
  context: OpenContext,
  record: FileRecord,
  signal?: AbortSignal,
): Promise<Summary> {
  const params = await context.headers?.load(record);
  const known = params && (await openSummary(context, record, params, signal));
  if (known) return known;
  const kept = params && (await fromKept(context, record, params, describeFile, signal));
  if (!kept) return (await openFile(context, record.file_id, { record, signal, headOnly: true })).header;
  context.headers?.save(record, await withSummary(context, record, params, kept));
  return kept;
}

/** The header that was kept beside this record, if it is one; verified in the same way, since whoever can write to the cache is not the owner. */
export async function openKept(
  context: OpenContext,
  record: FileRecord,
  signal?: AbortSignal,
): Promise<OpenedHeader | undefined> {
  const params = await context.headers?.load(record);
  return params && fromKept(context, record, params, openHeader, signal);
}

type Opens<Header> = (engine: Engine, parsed: ParsedHeader, master: Bytes) => Promise<Header>;

async function fromKept<Header extends DescribedFile>(
  context: OpenContext,
  record: FileRecord,
  params: Record<string, unknown>,
  open: Opens<Header>,
  signal?: AbortSignal,
): Promise<Header | undefined> {
  try {
    return await beside(context, record, params, open, signal);
  } catch (error) {
    if (error instanceof TamperedError || error instanceof UnsupportedError) return undefined;
    throw error;
  }
}

/** A header that came by itself, held together with the record of its file. */
export function openBeside(
  context: OpenContext,
  record: FileRecord,
  params: Record<string, unknown>,
  signal?: AbortSignal,
): Promise<OpenedHeader> {
  return beside(context, record, params, openHeader, signal);
}

async function beside<Header extends DescribedFile>(
  context: OpenContext,
  record: FileRecord,
  params: Record<string, unknown>,
  open: Opens<Header>,
  signal?: AbortSignal,
): Promise<Header> {
  const parsed = parseHeader(params);
  const header = await open(context.engine, parsed, await context.keys.master(parsed.epoch, signal));
  checkRecord(record, header);
  const older = await context.revs?.check(record.file_id, header.metadata.rev);
  if (older) throw older;
  if ((await nameKind(context, record, header)) === 'other') throw otherName();
  return header;
}

async function openParams(
  { engine, keys }: OpenContext,
  params: Record<string, unknown>,
  signal?: AbortSignal,
): Promise<OpenedHeader> {
  const parsed = parseHeader(params);
  return openHeader(engine, parsed, await keys.master(parsed.epoch, signal));
}

export async function readHead(
  api: Api,
  fileId: string,
  signal: AbortSignal | undefined,
): Promise<VolumeAnswer> {
  try {
    return await readVolumeHeaders(api, fileId, 1, { signal });
  } catch (error) {
    // The specification names only GET; ask for a volume where HEAD is not known.
    if (!(error instanceof ApiError) || (error.status !== 405 && error.status !== 501)) throw error;
    return readVolume(api, fileId, 1, sealedSize(MAX_VOLUME_SIZE), { signal });
  }
}

function checkCount(answer: Pick<VolumeAnswer, 'chunkCount'>, layout: Layout): void {
  if (answer.chunkCount !== layout.count) {
    throw new TamperedError(
      'record',
      `the file has ${layout.count} volumes, but the server says ${answer.chunkCount}`,
    );
  }
}

/** That the list and the header tell of one file. */
export function checkRecord(
  record: FileRecord,
  { layout, totalSha256: total }: Pick<DescribedFile, 'layout' | 'totalSha256'>,
): void {
  const same =
    record.sha256 === total && record.chunk_count === layout.count && record.size === storedSize(layout);
  if (!same) throw new TamperedError('record', 'the header and the record belong to different files');
}

const openedNames = new WeakMap<FileRecord, { master: Bytes; name: ListedName; at: number }>();

/** The name of a record opened to this, all of it, under this master key: nobody has to seal it once more to know that it fits. */
export function noteName(record: FileRecord, master: Bytes, name: ListedName): void {
  openedNames.set(record, { master, name, at: performance.now() });
}

function isNoted(record: FileRecord, master: Bytes, metadata: ListedName): boolean {
  const noted = openedNames.get(record);
  if (noted?.master !== master) return false;
  const { name, rev, gen, added } = noted.name;
  return name === metadata.name && rev === metadata.rev && gen === metadata.gen && added === metadata.added;
}

/**
 * What the record's name is to the file: its name as sealed, its name as the service keeps a plain one, or another's. `accepted`: a
 * master key that counts although it is retired.
 */
export async function nameKind(
  { engine, keys }: OpenContext,
  record: FileRecord,
  { epoch, layout, totalSha256: total, metadata }: DescribedFile,
  accepted?: Bytes,
): Promise<'sealed' | 'plain' | 'other'> {
  const master = accepted ?? (await keys.master(epoch));
  if (isNoted(record, master, metadata)) return 'sealed';
  const binding = { totalSha256: total, storedSize: storedSize(layout), count: layout.count };
  // Names are sealed deterministically: there is one text for this name beside this record.
  if (record.file_name === (await sealFileName(engine, master, metadata, binding))) return 'sealed';
  // Where the owner shows the name, the directory may stand for the first part of the path.
  const plain = [metadata.name, belowFirst(metadata.name)].map(plainNameOf);
  return plain.includes(record.file_name) ? 'plain' : 'other';
}

function wrongLength(idx: number, cause?: unknown): TamperedError {
  return new TamperedError('volume', `volume ${idx} has a wrong length`, { cause });
}

function changed(idx: number): TamperedError {
  return new TamperedError('volume', `volume ${idx} was changed`);
}

export function otherName(): TamperedError {
  return new TamperedError('name', 'the name in the list is not the name of this file');
}

/** The names of all files, as a list told them that was begun then. */
interface Names {
  began: number;
  byId: Promise<Map<string, string>>;
}

const namesOf = new WeakMap<Api, Names>();

/** A list that was begun since then: many files that were renamed meanwhile share one. Without a signal, for many wait for it. */
function namesSince(api: Api, since: number): Promise<Map<string, string>> {
  const known = namesOf.get(api);
  if (known && known.began >= since) return known.byId;
  const byId = Array.fromAsync(
    eachFile(api, 'listFiles'),
    ({ file_id, file_name }) => [file_id, file_name] as const,
  ).then((names) => new Map(names));
  const names = { began: performance.now(), byId };
  namesOf.set(api, names);
  byId.catch(() => {
    if (namesOf.get(api) === names) namesOf.delete(api);
  });
  return byId;
}

/** Whoever lists all files again has younger records: for those the names of before tell nothing. */
export const forgetNames = (api: Api) => void namesOf.delete(api);

/** Throws unless the record has the name of the file, or had it when it was listed and only its header was sealed again since. */
export async function requireName(
  context: OpenContext,
  record: FileRecord,
  header: DescribedFile,
  signal?: AbortSignal,
): Promise<void> {
  if ((await nameKind(context, record, header)) !== 'other') return;
  const wrong = await wrongName(context, record, header, signal);
  if (!(wrong instanceof ConflictError && (await hadName(context, record, header)))) throw wrong;
}

/** Whether only `rev` of the record's name is another one: the header was sealed again since, at the same path. Unknown for a cut name. */
export async function hadName(
  { engine, keys }: OpenContext,
  record: FileRecord,
  { layout, totalSha256: total, metadata }: DescribedFile,
): Promise<boolean> {
  const binding = { totalSha256: total, storedSize: storedSize(layout), count: layout.count };
  for (const { key } of await keys.masters()) {
    const was = await openFileName(engine, key, record.file_name, binding);
    if (!was) continue;
    const { name, gen, added } = metadata;
    const isSame = was.whole && was.name === name && was.gen === gen && was.added === added;
    return isSame && was.rev < metadata.rev;
  }
  return false;
}

/** Of a record whose name is not that of the file: where it was, and a list of now has another one, a device has renamed it since. */
async function wrongName(
  { engine, api, keys }: OpenContext,
  record: FileRecord,
  { layout, totalSha256: total, metadata }: DescribedFile,
  signal?: AbortSignal,
): Promise<ConflictError | TamperedError> {
  const binding = { totalSha256: total, storedSize: storedSize(layout), count: layout.count };
  const opened = (await keys.allMasters(signal)).map(({ key }) =>
    openFileName(engine, key, record.file_name, binding),
  );
  const was = (await Promise.all(opened)).find((name) => name !== undefined);
  if (!was || was.rev >= metadata.rev) return otherName();
  const now = performance.now();
  // One that is younger than the record may still be older than the new name: then one of now decides.
  for (const since of [openedNames.get(record)?.at ?? now, now]) {
    const name = (await unlessAborted(namesSince(api, since), signal)).get(record.file_id);
    if (name !== record.file_name) return new ConflictError([metadata.name]);
  }
  return otherName();
}

/** A file whose header was opened and verified; its volumes are verified as they are read. @public */
export class RemoteFile<Header extends ReadableHeader = OpenedHeader> {
  readonly fileId: string;
  readonly header: Header;
  readonly #context: { engine: Engine; api: VolumeReader };
  /** By number: no secrets, but a request each. */
  readonly #heads = new Map<number, Uint8Array>();
  readonly #digests: VolumeDigests;
  /** Of volumes that were verified as a whole, by number: the digests of their segments, by which single ones are read again. */
  readonly #segmentDigests = new Map<number, Uint8Array>();
  #first: Uint8Array | undefined;

  constructor(
    context: { engine: Engine; api: VolumeReader },
    fileId: string,
    header: Header,
    first?: Uint8Array,
  ) {
    this.#context = context;
    this.fileId = fileId;
    this.header = header;
    this.#first = first;
    const sources = {
      engine: context.engine,
      list: () => context.api.readDigests(fileId),
      ofVolume: (idx: number) => this.#digestOf(idx),
    };
    this.#digests = new VolumeDigests(sources, header);
  }

  get engine(): Engine {
    return this.#context.engine;
  }

  get metadata(): Header['metadata'] {
    return this.header.metadata;
  }

  get layout(): Layout {
    return this.header.layout;
  }

  /** One volume (from 1), verified. Release it when done. */
  async read(idx: number, options: ReadOptions = {}): Promise<OpenedVolume> {
    const { engine } = this.#context;
    const { length } = extentOf(this.layout, idx);
    const expected = sealedSize(length);
    const slot = engine.borrow(idx === 1 && this.#first ? 0 : expected);
    let { release } = slot;
    try {
      const proof = this.#digests.prove(options.signal);
      proof.catch(() => {}); // awaited below
      const sealed = await this.#fetch(idx, expected, slot.bytes, options);
      await proof;
      // It came in memory of its own, as one of unknown length does.
      if (sealed.buffer !== slot.bytes.buffer) slot.release();
      const opened = await openVolume(engine, this.#place(idx), length, sealed);
      if ('fault' in opened) throw changed(idx);
      release = () => {
        opened.release();
        slot.release();
      };
      await this.#digests.check(idx, opened.digest, options.signal);
      return { ...opened, bytes: this.#unpadded(idx, opened.bytes), release };
    } catch (error) {
      release();
      throw error;
    }
  }

  async #fetch(idx: number, expected: number, slot: Uint8Array, options: ReadOptions): Promise<Uint8Array> {
    const wrong = (cause?: unknown) => wrongLength(idx, cause);
    const first = idx === 1 ? this.#first : undefined;
    if (first) {
      this.#first = undefined;
      options.onBytes?.(first.length);
      if (first.length !== expected) throw wrong();
      return first;
    }
    const into = (length: number) => {
      if (length !== expected) throw wrong();
      return slot;
    };
    try {
      const answer = await this.#context.api.readVolume(this.fileId, idx, expected, { ...options, into });
      checkCount(answer, this.layout);
      if (answer.body.length !== expected) throw wrong();
      return answer.body;
    } catch (error) {
      throw error instanceof TooLongError ? wrong(error) : error;
    }
  }

  /**
   * Any range of the plaintext. Of a file whose key never left the account only the segments that it touches are fetched and verified:
   * the owner wrote them at this place, but nothing is known about the rest of the file. With any other key somebody else may have
   * written them, so the whole volume is verified first.
   */
  async readRange(offset: number, length: number, options: ReadOptions = {}): Promise<Uint8Array> {
    const end = Math.min(this.layout.size, offset + length);
    const range = new Uint8Array(Math.max(0, end - offset));
    for (let at = offset; at < end; ) {
      const idx = volumeAt(this.layout, at);
      const extent = extentOf(this.layout, idx);
      const to = Math.min(end, extent.offset + extent.length);
      const target = range.subarray(at - offset, to - offset);
      await this.#readPart(idx, { from: at - extent.offset, target }, options);
      at = to;
    }
    return range;
  }

  async #readPart(idx: number, part: Part, options: ReadOptions): Promise<void> {
    const { length } = extentOf(this.layout, idx);
    const { from, target } = part;
    const to = from + target.length;
    if ((idx === 1 && this.#first) || target.length === length) {
      const volume = await this.read(idx, options);
      target.set(volume.bytes.subarray(from, to));
      volume.release();
      return;
    }
    const known = this.#segmentDigests.get(idx);
    if (this.metadata.shared && !known) return this.#verifyWith(idx, part, options);
    const [first, last] = [Math.floor(from / SEGMENT_SIZE), Math.floor((to - 1) / SEGMENT_SIZE)];
    const key = first === 0 ? undefined : this.openHead(idx, options);
    key?.catch(() => {}); // awaited below
    const { head, segments } = await this.#fetchSegments(idx, first, last, options);
    if (head && !this.#heads.has(idx)) this.#heads.set(idx, head);
    const opened = await (key ?? this.openHead(idx, options));
    for (const [j, sealed] of segments) {
      if (known && !equal(await this.engine.sha256(sealed), digestAt(known, j))) throw changed(idx);
      await this.#openInto(idx, opened, j, sealed, part);
    }
  }

  /**
   * Reads all of a volume, a few segments at a time, and compares its digest. What is wanted of it is opened on the way, for the caller to
   * use once this has returned; the digests of the segments are kept, so that others can be read by themselves later.
   */
  async #verifyWith(idx: number, part: Part, options: ReadOptions): Promise<void> {
    const { length } = extentOf(this.layout, idx);
    const count = segmentsIn(length);
    const [hasher] = await Promise.all([this.engine.hasher(), this.#digests.prove(options.signal)]);
    const digests = new Uint8Array(count * DIGEST_BYTES);
    let key: VolumeKey | undefined;
    for (let first = 0; first < count; first += SEGMENTS_AT_ONCE) {
      const last = Math.min(first + SEGMENTS_AT_ONCE, count) - 1;
      const { head, segments } = await this.#fetchSegments(idx, first, last, options);
      if (head) {
        hasher.update(head);
        key = await openHead(this.engine, this.#place(idx), head);
        if (!key) throw changed(idx);
      }
      for (const [j, sealed] of segments) {
        hasher.update(sealed);
        digests.set(await this.engine.sha256(sealed), j * DIGEST_BYTES);
        await this.#openInto(idx, key!, j, sealed, part);
      }
    }
    await this.#digests.check(idx, hasher.digest(), options.signal);
    this.#heads.set(idx, key!.head);
    this.#segmentDigests.set(idx, digests);
    if (this.#segmentDigests.size > MOST_KNOWN_VOLUMES) {
      const [oldest] = this.#segmentDigests.keys();
      this.#segmentDigests.delete(oldest!);
    }
  }

  /** Segments of a volume as they are sealed; the head stands before the first, and comes along with it. */
  async #fetchSegments(
    idx: number,
    first: number,
    last: number,
    options: ReadOptions,
  ): Promise<{ head: Bytes | undefined; segments: [j: number, sealed: Bytes][] }> {
    const { length } = extentOf(this.layout, idx);
    const places = Array.from({ length: last - first + 1 }, (_, at) => segmentOf(length, first + at));
    const from = first === 0 ? 0 : places[0]!.offset;
    const { offset, size } = places.at(-1)!;
    const bytes = await this.#fetchRange(idx, { from, to: offset + size }, options);
    return {
      head: first === 0 ? bytes.slice(0, HEAD_BYTES) : undefined,
      segments: places.map(({ offset, size }, at) => [
        first + at,
        bytes.subarray(offset - from, offset - from + size),
      ]),
    };
  }

  /** Opens a segment, and puts what is wanted of it into its place. */
  async #openInto(
    idx: number,
    key: VolumeKey,
    j: number,
    sealed: Bytes,
    { from, target }: Part,
  ): Promise<void> {
    const { length } = extentOf(this.layout, idx);
    const segment = segmentOf(length, j);
    const to = from + target.length;
    if (segment.to <= from || segment.from >= to) return;
    const plain = await openSegment(this.engine, key, length, j, sealed);
    if (!plain) throw changed(idx);
    const wanted = plain.subarray(Math.max(0, from - segment.from), to - segment.from);
    target.set(wanted, Math.max(0, segment.from - from));
  }

  /** The key of a volume, whose head is fetched once. */
  async openHead(idx: number, options: ReadOptions = {}): Promise<VolumeKey> {
    // A copy: the volume is opened where it lies.
    const first = idx === 1 && this.#first ? new Uint8Array(this.#first.subarray(0, HEAD_BYTES)) : undefined;
    const head =
      this.#heads.get(idx) ?? first ?? (await this.#fetchRange(idx, { from: 0, to: HEAD_BYTES }, options));
    const key = await openHead(this.engine, this.#place(idx), head);
    if (!key) {
      this.#heads.delete(idx);
      throw changed(idx);
    }
    this.#heads.set(idx, head);
    return key;
  }

  /** A range of a sealed volume, cut out here where the service gives the whole. */
  async #fetchRange(idx: number, range: ByteRange, { signal, onBytes }: ReadOptions): Promise<Bytes> {
    const whole = sealedSize(extentOf(this.layout, idx).length);
    const { from, to } = range;
    try {
      const answer = await this.#context.api.readVolume(this.fileId, idx, whole, { range, signal, onBytes });
      checkCount(answer, this.layout);
      const { isRange, body } = answer;
      if (body.length !== (isRange ? to - from : whole)) throw wrongLength(idx);
      return new Uint8Array(isRange ? body : body.subarray(from, to));
    } catch (error) {
      throw error instanceof TooLongError ? wrongLength(idx, error) : error;
    }
  }

  /** Of a volume as it comes, of a service that gives no list of digests. */
  async #digestOf(idx: number): Promise<Bytes> {
    const expected = sealedSize(extentOf(this.layout, idx).length);
    const slot = this.engine.borrow(expected);
    try {
      return await this.engine.sha256(await this.#fetch(idx, expected, slot.bytes, {}));
    } finally {
      slot.release();
    }
  }

  #place(idx: number): VolumePlace {
    const { fileId, fileKey, layout } = this.header;
    return { fileId, fileKey, idx, isLast: idx === layout.count };
  }

  /** The bytes of the file in a volume; what stands behind them must be zeros. */
  #unpadded(idx: number, bytes: Uint8Array): Uint8Array {
    const { size, padded } = this.layout;
    if (size === padded) return bytes;
    const end = Math.max(0, Math.min(bytes.length, size - extentOf(this.layout, idx).offset));
    if (bytes.subarray(end).some((byte) => byte !== 0)) {
      throw new TamperedError('volume', `the padding in volume ${idx} is not zeros`);
    }
    return bytes.subarray(0, end);
  }

  /**
   * The plaintext in order. Each volume is verified before it is passed on: what came is the beginning of the owner's file. Only the
   * end of the stream without an error says that nothing is missing, so nothing may be given its final name before.
   */
  stream(options: StreamOptions = {}): ReadableStream<Uint8Array<ArrayBuffer>> {
    const stop = new AbortController();
    const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
    const pieces = this.pieces({ ...options, signal });
    return new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        async pull(controller) {
          const { done, value } = await pieces.next();
          // A reader may keep what it gets.
          if (value) controller.enqueue(new Uint8Array(value));
          if (done) controller.close();
        },
        async cancel(reason) {
          // Otherwise what is being waited for would have to come first.
          stop.abort(reason);
          await pieces.return();
        },
      },
      { highWaterMark: 0 },
    );
  }

  /** The same without a copy: each piece, of up to PIECE_SIZE bytes, is good until the next is asked for. */
  async *pieces(options: StreamOptions = {}): AsyncGenerator<Uint8Array, void> {
    for await (const volume of this.volumes(options)) {
      const { bytes } = volume;
      try {
        for (let at = 0; at < bytes.length; at += PIECE_SIZE) yield bytes.subarray(at, at + PIECE_SIZE);
      } finally {
        volume.release();
      }
    }
  }

  /** The volumes in order, fetched ahead, without a copy. */
  async *volumes(options: StreamOptions = {}): AsyncGenerator<OpenedVolume, void> {
    const { count, size } = this.layout;
    const stop = new AbortController();
    const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
    const ahead = concurrencyFor(largestVolume(this.layout), options.parallel ?? PARALLEL);
    const flying: Promise<OpenedVolume>[] = [];
    let done = 0;
    let next = 1;
    const onBytes = (bytes: number) => {
      done += bytes;
      options.onProgress?.({ done: Math.min(done, size), total: size });
    };
    try {
      for (let passed = 0; passed < count; passed++) {
        for (; next <= count && flying.length < ahead; next++) {
          const volume = this.read(next, { signal, onBytes });
          volume.catch(() => {}); // awaited below, in its turn
          flying.push(volume);
        }
        const volume = await flying[0]!;
        flying.shift(); // from here on it is the caller's to release
        yield volume;
      }
    } finally {
      stop.abort();
      for (const left of await Promise.allSettled(flying)) {
        if (left.status === 'fulfilled') left.value.release();
      }
    }
  }

  /** Whether a volume with this digest is the one that was uploaded. */
  hasDigest(idx: number, digest: Bytes, signal?: AbortSignal): Promise<boolean> {
    return this.#digests.has(idx, digest, signal);
  }

  /** Reads and verifies everything, keeps nothing. */
  async verify(options: StreamOptions = {}): Promise<void> {
    await inRoom(this.layout, options, async (parallel) => {
      for await (const volume of this.volumes({ ...options, parallel })) volume.release();
    });
  }
}
