import { type Bytes, extentOf, type Layout, sealedSize } from '@szafa/format';
import type { ByteRange, VolumeOptions } from '../../call.ts';
import { TamperedError, TooLongError } from '../../errors.ts';
import type { VolumeBytes } from '../calls.ts';

/** Where volumes come from: the caller's own files, or a share. */
export interface VolumeReader {
  readVolume(
    fileId: string,
    idx: number,
    maxBytes: number,
    options?: VolumeOptions & { range?: ByteRange | undefined },
  ): Promise<VolumeBytes>;
  /** Returns the digests of all volumes, concatenated. */
  readDigests(fileId: string): Promise<Uint8Array>;
}

export interface ReadOptions {
  signal?: AbortSignal | undefined;
  /** Called with the number of ciphertext bytes that arrived; negative if an attempt is repeated. */
  onBytes?: ((bytes: number) => void) | undefined;
}

/** @throws TamperedError at stage `record` if the server names another number of volumes */
export function checkCount({ chunkCount }: Pick<VolumeBytes, 'chunkCount'>, { count }: Layout): void {
  if (chunkCount === count) return;
  throw new TamperedError('record', `the file has ${count} volumes, but the server says ${chunkCount}`);
}

export const volumeChanged = (idx: number) => new TamperedError('volume', `volume ${idx} was changed`);

const wrongLength = (idx: number, cause?: unknown) =>
  new TamperedError('volume', `volume ${idx} has a wrong length`, { cause });

/** Fetches sealed volumes of one file, and checks their lengths. */
export class VolumeFetcher {
  readonly #api: VolumeReader;
  readonly #fileId: string;
  readonly #layout: Layout;
  #first: Uint8Array | undefined;

  /** @param first the first volume, if it came with the header */
  constructor(api: VolumeReader, fileId: string, layout: Layout, first: Uint8Array | undefined) {
    this.#api = api;
    this.#fileId = fileId;
    this.#layout = layout;
    this.#first = first;
  }

  sizeOf(idx: number): number {
    return sealedSize(extentOf(this.#layout, idx).length);
  }

  /** Returns the first volume if it came with the header and was not read yet. */
  peek(idx: number): Uint8Array | undefined {
    return idx === 1 ? this.#first : undefined;
  }

  /** Fetches a whole volume, into `memory` if its length is known before it arrives. */
  async whole(idx: number, memory: Uint8Array, options: ReadOptions = {}): Promise<Uint8Array> {
    const expected = this.sizeOf(idx);
    const first = this.peek(idx);
    if (first) {
      this.#first = undefined;
      options.onBytes?.(first.length);
      if (first.length !== expected) throw wrongLength(idx);
      return first;
    }
    const into = (length: number) => {
      if (length !== expected) throw wrongLength(idx);
      return memory;
    };
    const { body } = await this.#read(idx, { ...options, into });
    if (body.length !== expected) throw wrongLength(idx);
    return body;
  }

  /** Fetches a range of a volume; cuts it out if the server returns all of it. */
  async range(idx: number, range: ByteRange, { signal, onBytes }: ReadOptions): Promise<Bytes> {
    const { from, to } = range;
    const { isRange, body } = await this.#read(idx, { range, signal, onBytes });
    if (body.length !== (isRange ? to - from : this.sizeOf(idx))) throw wrongLength(idx);
    return new Uint8Array(isRange ? body : body.subarray(from, to));
  }

  async #read(idx: number, options: VolumeOptions & { range?: ByteRange }): Promise<VolumeBytes> {
    try {
      const answer = await this.#api.readVolume(this.#fileId, idx, this.sizeOf(idx), options);
      checkCount(answer, this.#layout);
      return answer;
    } catch (error) {
      throw error instanceof TooLongError ? wrongLength(idx, error) : error;
    }
  }
}
