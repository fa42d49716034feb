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

/** Describes a sealed volume: the salt is needed to seal it again, and the digest to recognise it. */
export interface VolumeRecord {
  salt: Bytes;
  digest: Bytes;
}

export interface SupplyOptions {
  engine: Engine;
  source: Source;
  layout: Layout;
  secrets: FileSecrets;
  /** Volumes that were already sealed under these secrets, by number. */
  records?: ReadonlyMap<number, VolumeRecord> | undefined;
}

/**
 * Seals the volumes of one upload. Enforces a rule of the format: a volume gets a new salt unless it is identical to the one sealed with
 * the same salt before. @public
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

  /** The digests of all volumes. Every volume must have been sealed. */
  get digests(): Bytes[] {
    return Array.from({ length: this.layout.count }, (_, at) => this.records.get(at + 1)!.digest);
  }

  /** Seals a volume for sending. The caller must release it. */
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
   * Proves that all volumes come from one state of the source. Returns whether the source has grown since. If times and size do not prove
   * it, reads every volume a second time, and requires identical bytes.
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

  /** Seals volumes just to compute their digests. @throws FileChangedError if one differs from before */
  async digest(volumes: Iterable<number>, signal: AbortSignal | undefined): Promise<void> {
    const parallel = concurrencyFor(largestVolume(this.layout), this.#engine.parallel);
    await forEach(volumes, parallel, async (idx) => {
      signal?.throwIfAborted();
      (await this.#seal(idx, true)).release();
    });
  }

  /** Whether the source still has the bytes of these volumes. */
  async isKept(volumes: Iterable<number>, signal: AbortSignal | undefined): Promise<boolean> {
    try {
      await this.digest(volumes, signal);
      return true;
    } catch (error) {
      if (!(error instanceof FileChangedError)) throw error;
      return false;
    }
  }

  /** Destroys the file key: after a change of the source, nothing more may be sealed under it. */
  burn(): void {
    this.#burnt = true;
    this.secrets.fileKey.fill(0);
  }
}
