import assert from 'node:assert/strict';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Segment, SegmentPool } from '../../server/src/platform/volumes/segments.ts';

const CANARY = 0xc5;

/** A pool that knows whether somebody wrote into a segment while nobody had it. */
export class GuardedPool extends SegmentPool {
  readonly #kept = new Set<Segment>();
  readonly #canaries: Buffer;

  constructor(segments: number, bytes: number) {
    super(segments, bytes);
    this.#canaries = Buffer.alloc(bytes, CANARY);
    const all: Segment[] = [];
    for (let lease = super.lease(); lease; lease = super.lease()) all.push(...lease);
    this.release(all);
  }

  override lease(): [Segment, Segment] | undefined {
    this.check();
    const lease = super.lease();
    for (const segment of lease ?? []) this.#kept.delete(segment);
    return lease;
  }

  override release(lease: Segment[]): void {
    for (const segment of lease) {
      segment.fill(CANARY);
      this.#kept.add(segment);
    }
    super.release(lease);
  }

  /** Segments that nobody has. */
  get kept(): number {
    return this.#kept.size;
  }

  check(): void {
    for (const segment of this.#kept) {
      if (this.#canaries.equals(segment)) continue;
      const at = segment.findIndex((byte) => byte !== CANARY);
      assert.fail(`byte ${at} of a segment was written while nobody had it: ${segment[at]}`);
    }
  }
}

setFlagsFromString('--expose-gc');
/** Collects everything that nobody holds. */
export const collect = runInNewContext('gc') as () => void;
setFlagsFromString('--no-expose-gc');
