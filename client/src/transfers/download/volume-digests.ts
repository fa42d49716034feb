import { type Bytes, concat, type Engine, equal, type Layout } from '@szafa/format';
import { DIGEST_BYTES } from '@szafa/protocol';
import { ApiError, TamperedError } from '../../errors.ts';
import { unlessAborted } from '../../pool.ts';

interface Sources {
  engine: Engine;
  /** Fetches the list of digests. */
  list(): Promise<Uint8Array>;
  /** Reads a volume for its digest, if the server has no list. */
  ofVolume(idx: number): Promise<Bytes>;
}

/** Statuses of a server that does not know the route. */
const UNKNOWN = new Set([404, 405, 501]);

/**
 * The digests of a file's volumes, verified by `total_sha256`, which only the owner can seal. Anyone with the file key can make volumes,
 * so no byte of a volume may be used before its digest is found in this list.
 */
export class VolumeDigests {
  readonly #sources: Sources;
  readonly #layout: Layout;
  readonly #total: string;
  #proven: Promise<Uint8Array> | undefined;
  #waiting = 0;

  constructor(sources: Sources, { layout, totalSha256 }: { layout: Layout; totalSha256: string }) {
    this.#sources = sources;
    this.#layout = layout;
    this.#total = totalSha256;
  }

  /** Fetches and verifies the list, once. A file of one volume needs none. */
  async prove(signal: AbortSignal | undefined): Promise<Uint8Array | undefined> {
    if (this.#layout.count === 1) return undefined;
    // Without a signal, since other callers share it.
    this.#proven ??= this.#fetch().catch((error) => {
      this.#proven = undefined;
      throw error;
    });
    this.#waiting++;
    try {
      return await unlessAborted(this.#proven, signal);
    } finally {
      this.#waiting--;
    }
  }

  /** Whether this is the digest of the volume. */
  async has(idx: number, digest: Bytes, signal: AbortSignal | undefined): Promise<boolean> {
    const list = await this.prove(signal);
    if (!list) return this.#isTotal(digest);
    return equal(list.subarray((idx - 1) * DIGEST_BYTES, idx * DIGEST_BYTES), digest);
  }

  async check(idx: number, digest: Bytes, signal: AbortSignal | undefined): Promise<void> {
    if (await this.has(idx, digest, signal)) return;
    throw new TamperedError('digest', `volume ${idx} is not the one that was uploaded`);
  }

  async #fetch(): Promise<Uint8Array> {
    const list = await this.#sources.list().catch((error: unknown) => {
      if (!(error instanceof ApiError) || !UNKNOWN.has(error.status)) throw error;
      return this.#readAll();
    });
    if (list.length !== this.#layout.count * DIGEST_BYTES || !(await this.#isTotal(list))) {
      throw new TamperedError('digests', 'the digests are not those of the volumes that were uploaded');
    }
    return list;
  }

  /** Reads every volume for its digest; later it is read again for its bytes. */
  async #readAll(): Promise<Bytes> {
    const digests: Bytes[] = [];
    while (digests.length < this.#layout.count) {
      if (this.#waiting === 0) throw new DOMException('no caller is waiting', 'AbortError');
      digests.push(await this.#sources.ofVolume(digests.length + 1));
    }
    return concat(...digests);
  }

  async #isTotal(digests: Uint8Array): Promise<boolean> {
    return (await this.#sources.engine.sha256(digests)).toHex() === this.#total;
  }
}
