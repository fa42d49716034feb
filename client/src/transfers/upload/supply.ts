import {
  type Bytes,
  type Engine,
  equal,
  extentOf,
  type FileSecrets,
  type Layout,
  largestVolume,
  type SealedVolume,
  sealVolume,
} from '@szafa/format';
import { FileChangedError } from '../../errors.ts';
import { concurrencyFor, forEach, range } from '../../pool.ts';
import type { Source } from './source.ts';

/** By which a volume that was sealed before is made again, and known again. */
export interface VolumeRecord {
  salt: Bytes;
  digest: Bytes;
}

export interface SupplyOptions {
  engine: Engine;
  source: Source;
  layout: Layout;
  secrets: FileSecrets;
  /** By their numbers: what was sealed under these secrets before. */
  records?: ReadonlyMap<number, VolumeRecord> | undefined;
}

/**
 * The volumes of one upload. The one rule of the format is held here and nowhere else: a volume that `take` gives was
 * sealed under a salt of its own, or it came out as it did the first time. @public
 */
export class VolumeSupply {
  readonly layout: Layout;
  readonly secrets: FileSecrets;
  readonly records: Map<number, VolumeRecord>;
  readonly #engine: Engine;
  readonly #source: Source;
  #burnt = false;

  constructor({ engine, source, layout, secrets, records = new Map() }: SupplyOptions) {
    this.layout = layout;
    this.secrets = secrets;
    this.records = new Map(records);
    this.#engine = engine;
    this.#source = source;
  }

  /** Of all volumes, each of which was sealed at least once. */
  get digests(): Bytes[] {
    return Array.from({ length: this.layout.count }, (_, at) => this.records.get(at + 1)!.digest);
  }

  /** A volume to be sent. It is the caller's to release. */
  take(idx: number): Promise<SealedVolume> {
    return this.#seal(idx);
  }

  async #seal(idx: number, digestOnly = false): Promise<SealedVolume> {
    if (this.#burnt) throw new FileChangedError();
    const { count } = this.layout;
    const place = { ...this.secrets, idx, isLast: idx === count };
    const record = this.records.get(idx);
    const sealed = await sealVolume(this.#engine, place, this.#source, extentOf(this.layout, idx), {
      salt: record?.salt,
      digestOnly,
    });
    if (!record) {
      this.records.set(idx, { salt: sealed.salt, digest: sealed.digest });
      return sealed;
    }
    if (equal(sealed.digest, record.digest)) return sealed;
    sealed.release();
    this.burn();
    throw new FileChangedError(`the file changed during the upload (volume ${idx})`);
  }

  /**
   * Proves that the volumes hold one state of the source; says whether the source has grown beyond it. Where times or
   * size leave that open, every volume is read a second time, after all were read once, and must come out the same.
   */
  async confirm(signal: AbortSignal | undefined): Promise<boolean> {
    try {
      await this.#source.check();
      return false;
    } catch (error) {
      if (!(error instanceof FileChangedError && error.mayBeKept)) throw error;
      await this.digest(range(1, this.layout.count), signal);
      return error.change === 'grown';
    }
  }

  /** Reads and seals volumes for their digests alone. One that was sealed before must come out the same: otherwise a FileChangedError. */
  async digest(volumes: Iterable<number>, signal: AbortSignal | undefined): Promise<void> {
    const lanes = concurrencyFor(largestVolume(this.layout), this.#engine.parallel);
    await forEach(volumes, lanes, async (idx) => {
      signal?.throwIfAborted();
      (await this.#seal(idx, true)).release();
    });
  }

  /** Whether the source still has what these volumes were sealed from. */
  async isKept(volumes: Iterable<number>, signal: AbortSignal | undefined): Promise<boolean> {
    try {
      await this.digest(volumes, signal);
      return true;
    } catch (error) {
      if (!(error instanceof FileChangedError)) throw error;
      return false;
    }
  }

  /** Ends this upload's key: after a change, nothing more may be sealed under it. */
  burn(): void {
    this.#burnt = true;
    this.secrets.fileKey.fill(0);
  }
}
