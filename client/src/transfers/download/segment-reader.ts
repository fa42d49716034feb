import {
  type Bytes,
  type Engine,
  equal,
  extentOf,
  HEAD_BYTES,
  type Layout,
  openHead,
  openSegment,
  SEGMENT_SIZE,
  segmentOf,
  segmentsIn,
  type VolumeKey,
  type VolumePlace,
} from '@szafa/format';
import { DIGEST_BYTES } from '@szafa/protocol';
import type { VolumeDigests } from './volume-digests.ts';
import { type ReadOptions, type VolumeFetcher, volumeChanged } from './volume-fetcher.ts';

/** Number of segments fetched at a time while a whole volume is verified: 4 MiB. */
const SEGMENTS_AT_ONCE = 16;
/** Number of volumes whose segment digests are kept: up to 128 KiB each. */
const MOST_KNOWN_VOLUMES = 64;

/** A requested part of a volume's plaintext: its offset, and the target memory. */
export interface Part {
  from: number;
  target: Uint8Array;
}

interface Dependencies {
  engine: Engine;
  layout: Layout;
  /** Whether others had the file key: then a segment proves nothing until its whole volume is verified. */
  isShared(): boolean;
  fetcher: VolumeFetcher;
  digests: VolumeDigests;
  placeOf(idx: number): VolumePlace;
}

const digestAt = (digests: Uint8Array, j: number) =>
  digests.subarray(j * DIGEST_BYTES, (j + 1) * DIGEST_BYTES) as Bytes;

/** Reads parts of volumes segment by segment. */
export class SegmentReader {
  readonly #deps: Dependencies;
  /** Heads of volumes by number. They are not secret, but fetching each costs a request. */
  readonly #heads = new Map<number, Uint8Array>();
  /** Digests of the segments of fully verified volumes, by volume number. */
  readonly #segmentDigests = new Map<number, Uint8Array>();

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  async read(idx: number, part: Part, options: ReadOptions): Promise<void> {
    const known = this.#segmentDigests.get(idx);
    if (this.#deps.isShared() && !known) return this.#verifyWith(idx, part, options);
    const { from, target } = part;
    const to = from + target.length;
    const [first, last] = [Math.floor(from / SEGMENT_SIZE), Math.floor((to - 1) / SEGMENT_SIZE)];
    const key = first === 0 ? undefined : this.openHead(idx, options);
    key?.catch(() => {}); // awaited below
    const { head, segments } = await this.#fetch(idx, first, last, options);
    if (head && !this.#heads.has(idx)) this.#heads.set(idx, head);
    const opened = await (key ?? this.openHead(idx, options));
    for (const [j, sealed] of segments) {
      if (known && !equal(await this.#deps.engine.sha256(sealed), digestAt(known, j)))
        throw volumeChanged(idx);
      await this.#openInto(idx, opened, j, sealed, part);
    }
  }

  /**
   * Reads a whole volume, a few segments at a time, checks its digest, and opens the requested part. The caller must not use the part
   * before this returns. Keeps the digests of the segments, so that later reads need only their own segments.
   */
  async #verifyWith(idx: number, part: Part, options: ReadOptions): Promise<void> {
    const { engine, layout, digests, placeOf } = this.#deps;
    const count = segmentsIn(extentOf(layout, idx).length);
    const [hasher] = await Promise.all([engine.hasher(), digests.prove(options.signal)]);
    const segmentDigests = new Uint8Array(count * DIGEST_BYTES);
    let key: VolumeKey | undefined;
    for (let first = 0; first < count; first += SEGMENTS_AT_ONCE) {
      const last = Math.min(first + SEGMENTS_AT_ONCE, count) - 1;
      const { head, segments } = await this.#fetch(idx, first, last, options);
      if (head) {
        hasher.update(head);
        key = await openHead(engine, placeOf(idx), head);
        if (!key) throw volumeChanged(idx);
      }
      for (const [j, sealed] of segments) {
        hasher.update(sealed);
        segmentDigests.set(await engine.sha256(sealed), j * DIGEST_BYTES);
        await this.#openInto(idx, key!, j, sealed, part);
      }
    }
    await digests.check(idx, hasher.digest(), options.signal);
    this.#heads.set(idx, key!.head);
    this.#segmentDigests.set(idx, segmentDigests);
    if (this.#segmentDigests.size > MOST_KNOWN_VOLUMES) {
      const [oldest] = this.#segmentDigests.keys();
      this.#segmentDigests.delete(oldest!);
    }
  }

  /** Fetches sealed segments, together with the head if the first one is included. */
  async #fetch(
    idx: number,
    first: number,
    last: number,
    options: ReadOptions,
  ): Promise<{ head: Bytes | undefined; segments: [j: number, sealed: Bytes][] }> {
    const { layout, fetcher } = this.#deps;
    const { length } = extentOf(layout, idx);
    const places = Array.from({ length: last - first + 1 }, (_, at) => segmentOf(length, first + at));
    const from = first === 0 ? 0 : places[0]!.offset;
    const { offset, size } = places.at(-1)!;
    const bytes = await fetcher.range(idx, { from, to: offset + size }, options);
    return {
      head: first === 0 ? bytes.slice(0, HEAD_BYTES) : undefined,
      segments: places.map(({ offset, size }, at) => [
        first + at,
        bytes.subarray(offset - from, offset - from + size),
      ]),
    };
  }

  /** Opens a segment if it contains requested bytes, and copies those to the target. */
  async #openInto(
    idx: number,
    key: VolumeKey,
    j: number,
    sealed: Bytes,
    { from, target }: Part,
  ): Promise<void> {
    const { engine, layout } = this.#deps;
    const { length } = extentOf(layout, idx);
    const segment = segmentOf(length, j);
    const to = from + target.length;
    if (segment.to <= from || segment.from >= to) return;
    const plain = await openSegment(engine, key, length, j, sealed);
    if (!plain) throw volumeChanged(idx);
    const wanted = plain.subarray(Math.max(0, from - segment.from), to - segment.from);
    target.set(wanted, Math.max(0, segment.from - from));
  }

  /** Returns the key of a volume. Fetches its head once. */
  async openHead(idx: number, options: ReadOptions = {}): Promise<VolumeKey> {
    const { engine, fetcher, placeOf } = this.#deps;
    const volume = fetcher.peek(idx);
    const head =
      this.#heads.get(idx) ??
      // Copy the head, since the volume will be opened in place.
      (volume && new Uint8Array(volume.subarray(0, HEAD_BYTES))) ??
      (await fetcher.range(idx, { from: 0, to: HEAD_BYTES }, options));
    const key = await openHead(engine, placeOf(idx), head);
    if (!key) {
      this.#heads.delete(idx);
      throw volumeChanged(idx);
    }
    this.#heads.set(idx, head);
    return key;
  }
}
