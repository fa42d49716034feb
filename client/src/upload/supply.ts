import { FileChangedError } from '../errors.ts';
import { type Bytes, equal } from '../format/bytes.ts';
import type { Engine, SealedVolume } from '../format/engine.ts';
import type { FileSecrets } from '../format/header.ts';
import { extentOf, type Layout, largestVolume } from '../format/layout.ts';
import { sealVolume } from '../format/volume.ts';
import { forEach, lanesFor, range } from '../pool.ts';
import type { Body, KeptVolume, Shelf } from './shelf.ts';
import type { Source } from './source.ts';

export interface SupplyOptions {
  engine: Engine;
  source: Source;
  layout: Layout;
  secrets: FileSecrets;
  signal?: AbortSignal | undefined;
}

/**
 * The volumes of one upload. Pass 1 seals all of them to learn their digests and keeps as many as the shelf
 * takes; the others are sealed a second time when they are needed. The one rule of the format is held
 * here and nowhere else: what `take` gives has the digest that pass 1 declared, or it is not given. @public
 */
export class VolumeSupply {
  readonly layout: Layout;
  readonly secrets: FileSecrets;
  readonly digests: Bytes[];
  readonly salts: Bytes[];
  /** SHA-256 of the plaintext, of a file of one volume. */
  plainDigest: Bytes | undefined;
  readonly #engine: Engine;
  readonly #source: Source;
  readonly #kept = new Map<number, KeptVolume>();
  #burnt = false;

  private constructor(options: SupplyOptions, digests: Bytes[], salts: Bytes[]) {
    const { engine, layout, secrets, source } = options;
    this.layout = layout;
    this.secrets = secrets;
    this.digests = digests;
    this.salts = salts;
    this.#engine = engine;
    this.#source = source;
  }

  /** For an upload whose digests were declared before. */
  static resume(options: SupplyOptions, digests: Bytes[], salts: Bytes[]): VolumeSupply {
    return new VolumeSupply(options, digests, salts);
  }

  /** Pass 1. */
  static async prepare(
    options: SupplyOptions,
    shelf: Shelf,
    onSealed?: (bytes: number) => void,
  ): Promise<VolumeSupply> {
    const { layout, engine, signal } = options;
    const { count } = layout;
    const supply = new VolumeSupply(options, new Array<Bytes>(count), new Array<Bytes>(count));
    const lanes = lanesFor(largestVolume(layout), engine.parallel * 2);
    try {
      await forEach(range(1, count), lanes, async (idx) => {
        signal?.throwIfAborted();
        const sealed = await supply.#seal(idx, count === 1);
        supply.digests[idx - 1] = sealed.digest;
        supply.salts[idx - 1] = sealed.salt;
        supply.plainDigest = sealed.plainDigest;
        const kept = await shelf.keep(idx, sealed);
        if (kept) supply.#kept.set(idx, kept);
        else sealed.release();
        onSealed?.(extentOf(layout, idx).length);
      });
      return supply;
    } catch (error) {
      supply.burn();
      throw error;
    }
  }

  /** A volume to be sent. It is the caller's to release. */
  async take(idx: number): Promise<SealedVolume> {
    const { body, release } = await this.takeBody(idx);
    const bytes = body instanceof Uint8Array ? body : new Uint8Array(await body.arrayBuffer());
    return { bytes, digest: this.digests[idx - 1]!, salt: this.salts[idx - 1]!, release };
  }

  /** The same, where it may lie in a file of the browser. */
  async takeBody(idx: number): Promise<{ body: Body; release(): void }> {
    const kept = this.#kept.get(idx);
    if (kept) {
      this.#kept.delete(idx);
      return { body: await kept.body(), release: () => kept.release() };
    }
    const sealed = await this.#seal(idx);
    if (equal(sealed.digest, this.digests[idx - 1]!)) {
      return { body: sealed.bytes, release: () => sealed.release() };
    }
    sealed.release();
    this.burn();
    throw new FileChangedError(`the file changed during the upload (volume ${idx})`);
  }

  /** Ends this upload's key: after a change, nothing more may be sealed under it. */
  burn(): void {
    this.#burnt = true;
    this.secrets.fileKey.fill(0);
    this.release();
  }

  release(): void {
    for (const sealed of this.#kept.values()) sealed.release();
    this.#kept.clear();
  }

  async #seal(idx: number, plainDigest = false): Promise<SealedVolume> {
    if (this.#burnt) throw new FileChangedError();
    const place = { ...this.secrets, idx, isLast: idx === this.layout.count };
    const options = { salt: this.salts[idx - 1], plainDigest };
    return sealVolume(this.#engine, place, this.#source, extentOf(this.layout, idx), options);
  }
}
