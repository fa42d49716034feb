import { type Bytes, concat, type Engine, equal, type Layout } from '@szafa/format';
import { DIGEST_BYTES } from '@szafa/protocol';
import { ApiError, TamperedError } from '../../errors.ts';
import { unlessAborted } from '../../pool.ts';

interface Sources {
  engine: Engine;
  /** The list as the service gives it. */
  list(): Promise<Uint8Array>;
  /** The digest of a volume that is read for it, of a service that gives no list. */
  ofVolume(idx: number): Promise<Bytes>;
}

/** A service that does not know the request. */
const UNKNOWN = new Set([404, 405, 501]);

/**
 * The digests of a file's volumes, proven by `total_sha256`, which only the owner can seal. A file key opens volumes and can make them, and
 * others may have it: no byte of a volume is used before its digest is the one in this list.
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

  /** Fetches the list and checks it, once. A file of one volume needs none. */
  async prove(signal: AbortSignal | undefined): Promise<Uint8Array | undefined> {
    if (this.#layout.count === 1) return undefined;
    // Without a signal, since others wait for it too.
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

  /** Every volume is read once for its digest, and once more for its bytes. */
  async #readAll(): Promise<Bytes> {
    const digests: Bytes[] = [];
    while (digests.length < this.#layout.count) {
      if (this.#waiting === 0) throw new DOMException('nobody waits for it any more', 'AbortError');
      digests.push(await this.#sources.ofVolume(digests.length + 1));
    }
    return concat(...digests);
  }

  async #isTotal(digests: Uint8Array): Promise<boolean> {
    return (await this.#sources.engine.sha256(digests)).toHex() === this.#total;
  }
}
