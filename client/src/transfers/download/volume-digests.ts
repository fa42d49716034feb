import { type Bytes, concat, type Engine, equal, type Layout } from '@szafa/format';
import { DIGEST_BYTES } from '@szafa/protocol';
import { hasStatus } from '../../call.ts';
import { TamperedError } from '../../errors.ts';
import { unlessAborted } from '../../pool.ts';

export type VolumeDigests = ReturnType<typeof createDigests>;

/**
 * The digests of a file's volumes, verified by `total_sha256`, which only the owner can seal. Anyone with the file key can create
 * volumes, so no byte of a volume may be used until its digest is found in this list.
 * @param readList fetches the list of digests
 * @param readOne fetches a volume to compute its digest, if the server has no list
 */
export function createDigests(
  engine: Engine,
  { layout, totalSha256 }: { layout: Layout; totalSha256: string },
  readList: () => Promise<Uint8Array>,
  readOne: (idx: number) => Promise<Bytes>,
) {
  let proven: Promise<Uint8Array> | undefined;
  let waiting = 0;

  const isTotal = async (digests: Uint8Array) => (await engine.sha256(digests)).toHex() === totalSha256;

  /** Fetches every volume just for its digest; their bytes are fetched again later. */
  const readAll = async (): Promise<Bytes> => {
    const digests: Bytes[] = [];
    while (digests.length < layout.count) {
      if (waiting === 0) throw new DOMException('no caller is waiting', 'AbortError');
      digests.push(await readOne(digests.length + 1));
    }
    return concat(...digests);
  };

  const fetch = async (): Promise<Uint8Array> => {
    const list = await readList().catch((error: unknown) => {
      // The server lacks the route.
      if (!hasStatus(error, 404, 405, 501)) throw error;
      return readAll();
    });
    if (list.length !== layout.count * DIGEST_BYTES || !(await isTotal(list))) {
      throw new TamperedError('digests', 'the digests are not those of the volumes that were uploaded');
    }
    return list;
  };

  /** Fetches and verifies the list once. A file of one volume needs no list. */
  const prove = async (signal: AbortSignal | undefined): Promise<Uint8Array | undefined> => {
    if (layout.count === 1) return undefined;
    // Passes no signal because other callers share the result.
    proven ??= fetch().catch((error) => {
      proven = undefined;
      throw error;
    });
    waiting++;
    try {
      return await unlessAborted(proven, signal);
    } finally {
      waiting--;
    }
  };

  /** Whether this is the digest of the volume. */
  const has = async (idx: number, digest: Bytes, signal: AbortSignal | undefined): Promise<boolean> => {
    const list = await prove(signal);
    if (!list) return isTotal(digest);
    return equal(list.subarray((idx - 1) * DIGEST_BYTES, idx * DIGEST_BYTES), digest);
  };

  const check = async (idx: number, digest: Bytes, signal: AbortSignal | undefined): Promise<void> => {
    if (await has(idx, digest, signal)) return;
    throw new TamperedError('digest', `volume ${idx} is not the one that was uploaded`);
  };

  return { prove, has, check };
}
