import { type Bytes, extentOf, type Layout, sealedSize } from '@szafa/format';
import type { ByteRange, VolumeOptions } from '../../call.ts';
import { TamperedError, TooLongError } from '../../errors.ts';
import type { VolumeBytes } from '../calls.ts';

type RangeOptions = VolumeOptions & { range?: ByteRange | undefined };

/** The source of a file's volumes: the caller's account or a share. */
export interface VolumeReader {
  readVolume(idx: number, maxBytes: number, options?: RangeOptions): Promise<VolumeBytes>;
  /** Returns the digests of all volumes, concatenated. */
  readDigests(): Promise<Uint8Array>;
}

export interface ReadOptions {
  signal?: AbortSignal | undefined;
  /** Called with the number of received ciphertext bytes; negative if an attempt is repeated. */
  onBytes?: ((bytes: number) => void) | undefined;
}

/** @throws TamperedError at stage `record` if the server reports another number of volumes */
export function checkCount({ chunkCount }: Pick<VolumeBytes, 'chunkCount'>, { count }: Layout): void {
  if (chunkCount === count) return;
  throw new TamperedError('record', `the file has ${count} volumes, but the server says ${chunkCount}`);
}

export const volumeChanged = (idx: number) => new TamperedError('volume', `volume ${idx} was changed`);

const wrongLength = (idx: number, cause?: unknown) =>
  new TamperedError('volume', `volume ${idx} has a wrong length`, { cause });

export type VolumeFetcher = ReturnType<typeof createFetcher>;

/**
 * Fetches sealed volumes of one file and checks their lengths.
 * @param first the first volume, if it came with the header
 */
export function createFetcher(api: VolumeReader, layout: Layout, first: Uint8Array | undefined) {
  const sizeOf = (idx: number) => sealedSize(extentOf(layout, idx).length);
  /** Returns the first volume if it came with the header and has not been read yet. */
  const peek = (idx: number) => (idx === 1 ? first : undefined);

  const read = async (idx: number, options: RangeOptions): Promise<VolumeBytes> => {
    try {
      const answer = await api.readVolume(idx, sizeOf(idx), options);
      checkCount(answer, layout);
      return answer;
    } catch (error) {
      throw error instanceof TooLongError ? wrongLength(idx, error) : error;
    }
  };

  return {
    sizeOf,
    peek,

    /** Fetches a whole volume, into `memory` if the length is known in advance. */
    async whole(idx: number, memory: Uint8Array, options: ReadOptions = {}): Promise<Uint8Array> {
      const checkLength = (length: number) => {
        if (length !== sizeOf(idx)) throw wrongLength(idx);
        return memory;
      };
      let body = peek(idx);
      if (body) {
        first = undefined;
        options.onBytes?.(body.length);
      } else ({ body } = await read(idx, { ...options, into: checkLength }));
      checkLength(body.length);
      return body;
    },

    /** Fetches a range of a volume, even if the server returns the whole volume. */
    async range(idx: number, range: ByteRange, { signal, onBytes }: ReadOptions): Promise<Bytes> {
      const { from, to } = range;
      const { isRange, body } = await read(idx, { range, signal, onBytes });
      if (body.length !== (isRange ? to - from : sizeOf(idx))) throw wrongLength(idx);
      return new Uint8Array(isRange ? body : body.subarray(from, to));
    },
  };
}
