import type { FileRecord } from '@szafa/protocol';
import type { Api, VolumeAnswer } from '../api/api.ts';
import { ApiError, TamperedError, TooLongError } from '../errors.ts';
import type { Bytes } from '../format/bytes.ts';
import type { Engine, OpenedVolume } from '../format/engine.ts';
import { type OpenedHeader, openHeader, parseHeader } from '../format/header.ts';
import type { Metadata } from '../format/metadata.ts';
import { sealFileName } from '../format/names.ts';
import {
  extentOf,
  type Layout,
  MAX_VOLUME_SIZE,
  storedSize,
  TAG_BYTES,
  totalSha256,
  type VolumeKeys,
  volumeKeys,
} from '../format/volume.ts';
import type { Keyring } from '../keyring.ts';
import { lanesFor } from '../pool.ts';
import { plainNameOf } from '../text.ts';

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

export interface OpenContext {
  api: Api;
  engine: Engine;
  keyring: Keyring;
}

const PARALLEL = 4;
/** Up to this size the first volume is fetched together with the header. */
const AT_ONCE = 1024 * 1024;

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
  const remote = await openUnnamed(context, fileId, options);
  const { record } = options;
  if (record && (await nameKind(context, record, remote.header)) === 'other') throw otherName();
  return remote;
}

/** The same, without a look at the record's name. */
export async function openUnnamed(
  context: OpenContext,
  fileId: string,
  options: OpenOptions = {},
): Promise<RemoteFile> {
  const { api, engine, keyring } = context;
  const { record, signal, headOnly } = options;
  const small = !headOnly && record?.chunk_count === 1 && record.size <= AT_ONCE;
  const answer = small
    ? await api.readVolume(fileId, 1, Math.max(record.size, TAG_BYTES), { signal })
    : await readHead(api, fileId, signal);
  const parsed = parseHeader(answer.encParams);
  const master = await keyring.unlock(parsed.ring, record?.created_at);
  const header = await openHeader(engine, parsed, master);
  checkCount(answer, header.layout);
  if (record) checkRecord(record, header);
  return new RemoteFile(context, fileId, header, small ? answer.body : undefined);
}

async function readHead(api: Api, fileId: string, signal: AbortSignal | undefined): Promise<VolumeAnswer> {
  try {
    return await api.headVolume(fileId, 1, { signal });
  } catch (error) {
    // The specification names only GET; ask for a volume where HEAD is not known.
    if (!(error instanceof ApiError) || (error.status !== 405 && error.status !== 501)) throw error;
    return api.readVolume(fileId, 1, MAX_VOLUME_SIZE + TAG_BYTES, { signal });
  }
}

function checkCount(answer: VolumeAnswer, layout: Layout): void {
  if (answer.chunkCount !== layout.count) {
    throw new TamperedError(
      'record',
      `the file has ${layout.count} volumes, but the server says ${answer.chunkCount}`,
    );
  }
}

function checkRecord(record: FileRecord, { layout, totalSha256: total }: OpenedHeader): void {
  const same =
    record.sha256 === total && record.chunk_count === layout.count && record.size === storedSize(layout);
  if (!same) throw new TamperedError('record', 'the header and the record belong to different files');
}

/** What the record's name is to the file: its name as sealed, its name as the service keeps a plain one, or another's. */
export async function nameKind(
  { engine, keyring }: OpenContext,
  record: FileRecord,
  { ring, layout, totalSha256: total, metadata: { name } }: OpenedHeader,
): Promise<'sealed' | 'plain' | 'other'> {
  const master = await keyring.unlock(ring, record.created_at);
  const binding = { totalSha256: total, storedSize: storedSize(layout), count: layout.count };
  // Names are sealed deterministically: there is one text for this name beside this record.
  if (record.file_name === (await sealFileName(engine, master, name, binding))) return 'sealed';
  return record.file_name === plainNameOf(name) ? 'plain' : 'other';
}

export function otherName(): TamperedError {
  return new TamperedError('name', 'the name in the list is not the name of this file');
}

/** A file whose header was opened and verified; its volumes are verified as they are read. @public */
export class RemoteFile {
  readonly fileId: string;
  readonly header: OpenedHeader;
  readonly #context: OpenContext;
  readonly #keys: VolumeKeys;
  #first: Uint8Array | undefined;

  constructor(context: OpenContext, fileId: string, header: OpenedHeader, first?: Uint8Array) {
    this.#context = context;
    this.fileId = fileId;
    this.header = header;
    this.#first = first;
    this.#keys = volumeKeys(context.engine, header.fileKey, header.fileId, header.layout.count);
  }

  get engine(): Engine {
    return this.#context.engine;
  }

  get metadata(): Metadata {
    return this.header.metadata;
  }

  get layout(): Layout {
    return this.header.layout;
  }

  /** One volume (from 1), verified. Release it when done. */
  async read(idx: number, options: ReadOptions = {}): Promise<OpenedVolume> {
    const { engine } = this.#context;
    const expected = extentOf(this.layout, idx).length + TAG_BYTES;
    const slot = engine.borrow(idx === 1 && this.#first ? 0 : expected);
    try {
      const sealed = await this.#fetch(idx, expected, slot.bytes, options);
      const opened = await engine.openVolume(await this.#keys(idx), sealed);
      if (!opened) throw new TamperedError('volume', `volume ${idx} was changed`);
      if (opened.bytes.buffer === slot.bytes.buffer) return { ...opened, release: slot.release };
      // It came in memory of its own, as one of unknown length does.
      slot.release();
      return opened;
    } catch (error) {
      slot.release();
      throw error;
    }
  }

  async #fetch(idx: number, expected: number, slot: Uint8Array, options: ReadOptions): Promise<Uint8Array> {
    const wrong = (cause?: unknown) =>
      new TamperedError('volume', `volume ${idx} has a wrong length`, { cause });
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

  /** Any range of the plaintext; whole volumes are fetched for it. */
  async readRange(offset: number, length: number, options: ReadOptions = {}): Promise<Uint8Array> {
    const { size, volumeSize } = this.layout;
    const end = Math.min(size, offset + length);
    const range = new Uint8Array(Math.max(0, end - offset));
    for (let at = offset; at < end; ) {
      const idx = Math.floor(at / volumeSize) + 1;
      const from = at - (idx - 1) * volumeSize;
      const volume = await this.read(idx, options);
      const part = volume.bytes.subarray(from, Math.min(volume.bytes.length, from + end - at));
      range.set(part, at - offset);
      at += part.length;
      volume.release();
    }
    return range;
  }

  /**
   * The plaintext in order. Each volume is verified before it is passed on; only the end of the stream without
   * an error says that the whole file is right, so nothing may be given its final name before.
   */
  stream(options: StreamOptions = {}): ReadableStream<Uint8Array<ArrayBuffer>> {
    const volumes = this.volumes(options);
    return new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        async pull(controller) {
          let next = await volumes.next();
          // An empty volume is nothing to pass on; a pull that passes nothing on is not called again.
          while (!next.done && next.value.bytes.length === 0) next = await volumes.next();
          if (next.done) {
            controller.close();
            return;
          }
          // A reader may keep what it gets; the borrowed memory goes back.
          controller.enqueue(next.value.bytes.slice() as Bytes);
          next.value.release();
        },
        async cancel() {
          await volumes.return(undefined);
        },
      },
      { highWaterMark: 0 },
    );
  }

  /** The volumes in order, fetched ahead, without a copy; the digests are checked at the end. */
  async *volumes(options: StreamOptions = {}): AsyncGenerator<OpenedVolume, void> {
    const { count, volumeSize, size } = this.layout;
    const stop = new AbortController();
    const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
    const ahead = lanesFor(volumeSize, options.parallel ?? PARALLEL);
    const flying: Promise<OpenedVolume>[] = [];
    const digests: Bytes[] = [];
    let done = 0;
    let next = 1;
    const onBytes = (bytes: number) => {
      done += bytes;
      options.onProgress?.({ done: Math.min(done, size), total: size });
    };
    try {
      while (digests.length < count) {
        for (; next <= count && flying.length < ahead; next++) {
          const volume = this.read(next, { signal, onBytes });
          volume.catch(() => {}); // awaited below, in its turn
          flying.push(volume);
        }
        const volume = await flying.shift()!;
        digests.push(volume.digest);
        if (digests.length === count)
          await this.checkDigests(digests, count === 1 ? volume.bytes : undefined);
        yield volume;
      }
    } finally {
      stop.abort();
      for (const left of await Promise.allSettled(flying)) {
        if (left.status === 'fulfilled') left.value.release();
      }
    }
  }

  /** Checks that the digests of all volumes, and of the whole plaintext if it is there, are those of the header. */
  async checkDigests(digests: Bytes[], whole?: Uint8Array): Promise<void> {
    const { engine } = this.#context;
    if ((await totalSha256(engine, digests)).toHex() !== this.header.totalSha256) {
      throw new TamperedError('digest', 'the volumes are not the declared ones');
    }
    const declared = this.metadata.sha256;
    if (declared && whole && (await engine.sha256(whole)).toHex() !== declared) {
      throw new TamperedError('digest', 'the digest of the plaintext is not the one in the metadata');
    }
  }

  /** Reads and verifies everything, keeps nothing. */
  async verify(options: StreamOptions = {}): Promise<void> {
    for await (const volume of this.volumes(options)) volume.release();
  }
}
