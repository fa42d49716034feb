/** A file on the server with an opened header. */
import {
  type Bytes,
  type Engine,
  extentOf,
  type FileSecrets,
  type Layout,
  largestVolume,
  type Metadata,
  type OpenedHeader,
  type OpenedVolume,
  openVolume,
  type VolumeKey,
  type VolumePlace,
  volumeAt,
} from '@szafa/format';
import { TamperedError } from '../../errors.ts';
import { concurrencyFor } from '../../pool.ts';
import { type Part, SegmentReader } from './segment-reader.ts';
import { createDigests, type VolumeDigests } from './volume-digests.ts';
import {
  createFetcher,
  type ReadOptions,
  type VolumeFetcher,
  type VolumeReader,
  volumeChanged,
} from './volume-fetcher.ts';
import { withVolumeMemory } from './volume-memory.ts';

/** @public */
export interface DownloadProgress {
  done: number;
  total: number;
}

export interface StreamOptions {
  signal?: AbortSignal | undefined;
  /** Number of volumes to fetch at once. */
  parallel?: number | undefined;
  onProgress?: ((progress: DownloadProgress) => void) | undefined;
}

/** The header of a readable file. Some metadata is known only to its owner. @public */
export interface ReadableHeader extends FileSecrets {
  layout: Layout;
  totalSha256: string;
  metadata: Omit<Metadata, OwnersOnly> & Partial<Pick<Metadata, OwnersOnly>>;
}
type OwnersOnly = 'rev' | 'gen' | 'added';

const PARALLEL = 4;
/** Size of the pieces of a stream: small enough to save memory, large enough that a message per piece costs little. @public */
export const PIECE_SIZE = 1024 * 1024;

/** A file with a verified header. Its volumes are verified as they are read. @public */
export class RemoteFile<Header extends ReadableHeader = OpenedHeader> {
  readonly fileId: string;
  readonly header: Header;
  readonly engine: Engine;
  readonly #fetcher: VolumeFetcher;
  readonly #digests: VolumeDigests;
  readonly #segments: SegmentReader;

  /** @param first the first volume, if it came with the header */
  constructor(
    { engine, api }: { engine: Engine; api: VolumeReader },
    fileId: string,
    header: Header,
    first?: Uint8Array,
  ) {
    this.fileId = fileId;
    this.header = header;
    this.engine = engine;
    const { layout } = header;
    const fetcher = createFetcher(api, layout, first);
    const readOne = (idx: number) => this.#digestOf(idx);
    const digests = createDigests(engine, header, () => api.readDigests(), readOne);
    const isShared = () => header.metadata.shared === true;
    const placeOf = (idx: number) => this.#place(idx);
    this.#fetcher = fetcher;
    this.#digests = digests;
    this.#segments = new SegmentReader({ engine, layout, isShared, fetcher, digests, placeOf });
  }

  get metadata(): Header['metadata'] {
    return this.header.metadata;
  }

  get layout(): Layout {
    return this.header.layout;
  }

  /**
   * Reads and verifies one volume.
   * @param idx the number of the volume, from 1
   * @returns its plaintext; call `release` when it is no longer needed
   * @throws TamperedError if it differs from the uploaded volume; ApiError, NetworkError
   */
  async read(idx: number, options: ReadOptions = {}): Promise<OpenedVolume> {
    const { engine } = this;
    const slot = engine.borrow(this.#fetcher.peek(idx) ? 0 : this.#fetcher.sizeOf(idx));
    let { release } = slot;
    try {
      const proof = this.#digests.prove(options.signal);
      proof.catch(() => {}); // awaited below
      const sealed = await this.#fetcher.whole(idx, slot.bytes, options);
      await proof;
      // A volume whose length was unknown is in its own memory.
      if (sealed.buffer !== slot.bytes.buffer) slot.release();
      const { length } = extentOf(this.layout, idx);
      const opened = await openVolume(engine, this.#place(idx), length, sealed);
      if ('fault' in opened) throw volumeChanged(idx);
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

  /**
   * Reads any range of the plaintext. If the file key never left the account, fetches and verifies only the segments of the range, not
   * the rest of the file. If others had the key, they could have forged segments, so the whole volume is verified first.
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
    const { from, target } = part;
    const isWhole = target.length === extentOf(this.layout, idx).length;
    if (!isWhole && !this.#fetcher.peek(idx)) return this.#segments.read(idx, part, options);
    const volume = await this.read(idx, options);
    target.set(volume.bytes.subarray(from, from + target.length));
    volume.release();
  }

  /** Returns the key of a volume. Fetches its head once. */
  openHead(idx: number, options?: ReadOptions): Promise<VolumeKey> {
    return this.#segments.openHead(idx, options);
  }

  /** Fetches a volume to compute its digest, for servers without a list of digests. */
  async #digestOf(idx: number): Promise<Bytes> {
    const slot = this.engine.borrow(this.#fetcher.sizeOf(idx));
    try {
      return await this.engine.sha256(await this.#fetcher.whole(idx, slot.bytes));
    } finally {
      slot.release();
    }
  }

  #place(idx: number): VolumePlace {
    const { fileId, fileKey, layout } = this.header;
    return { fileId, fileKey, idx, isLast: idx === layout.count };
  }

  /** Removes the padding from a volume, and requires that it is zeros. */
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
   * Streams the plaintext. Each volume is verified before it is passed on, so received bytes are always the beginning of the owner's
   * file. Only an end without an error proves that nothing is missing: do not give a file its final name before that.
   */
  stream(options: StreamOptions = {}): ReadableStream<Uint8Array<ArrayBuffer>> {
    const stop = new AbortController();
    const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
    const pieces = this.pieces({ ...options, signal });
    return new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        async pull(controller) {
          const { done, value } = await pieces.next();
          // Copies the piece, since a reader may keep it.
          if (value) controller.enqueue(new Uint8Array(value));
          if (done) controller.close();
        },
        async cancel(reason) {
          // Otherwise pieces.return() would wait for the volumes in flight.
          stop.abort(reason);
          await pieces.return();
        },
      },
      { highWaterMark: 0 },
    );
  }

  /** Streams without copying. Each piece has up to PIECE_SIZE bytes and is valid only until the next one is requested. */
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

  /** Streams whole volumes in order and fetches ahead. Release each volume when it is no longer needed. */
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
          volume.catch(() => {}); // awaited below, in order
          flying.push(volume);
        }
        const volume = await flying[0]!;
        flying.shift(); // from here on the caller must release it
        yield volume;
      }
    } finally {
      stop.abort();
      for (const left of await Promise.allSettled(flying)) {
        if (left.status === 'fulfilled') left.value.release();
      }
    }
  }

  /** Whether this is the digest of the uploaded volume. */
  hasDigest(idx: number, digest: Bytes, signal?: AbortSignal): Promise<boolean> {
    return this.#digests.has(idx, digest, signal);
  }

  /** Reads and verifies the whole file without keeping it. */
  async verify(options: StreamOptions = {}): Promise<void> {
    await withVolumeMemory(this.layout, options, async (parallel) => {
      for await (const volume of this.volumes({ ...options, parallel })) volume.release();
    });
  }
}
