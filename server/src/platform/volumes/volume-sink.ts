import { createHash } from 'node:crypto';
import type { Volume } from '@szafa/protocol';
import { VolumeRejected } from '../errors.ts';
import type { Sink } from './body.ts';
import type { Segment } from './segments.ts';

/**
 * Receives a volume and checks its size and SHA-256. One segment is filled while the others are written. The last bytes are
 * held back until the volume is verified, so that a wrong volume never becomes complete.
 */
export class VolumeSink implements Sink {
  readonly #volume: Volume;
  readonly #segments: Segment[];
  readonly #write: (bytes: Segment) => Promise<void>;
  readonly #writes: Promise<void>[] = [];
  readonly #hash = createHash('sha256');
  #current = 0;
  #filled = 0;
  /** Bytes of the current segment that have already been passed to `write`. */
  #flushed = 0;
  #received = 0;
  /** The last bytes, if they filled a segment completely. */
  #last: Segment | undefined;

  /** `write` gets each part once, in order. The segment is reused when the promise resolves. */
  constructor(volume: Volume, segments: Segment[], write: (bytes: Segment) => Promise<void>) {
    this.#volume = volume;
    this.#segments = segments;
    this.#write = write;
  }

  target(): Segment {
    return this.#segments[this.#current]!.subarray(this.#filled);
  }

  advance(count: number): Promise<void> | undefined {
    this.#received += count;
    this.#filled += count;
    const { size } = this.#volume;
    if (this.#received > size) throw new VolumeRejected('size', `volume is longer than ${size} bytes`);
    if (this.#filled < this.#segments[this.#current]!.length) return undefined;
    if (this.#received < size) this.flush();
    else this.#last = this.#unflushed();
    this.#current = (this.#current + 1) % this.#segments.length;
    this.#filled = 0;
    this.#flushed = 0;
    return this.#writes[this.#current];
  }

  /** Writes the content of the current segment, unless it is the end of the volume. */
  flush(): void {
    const bytes = this.#unflushed();
    if (bytes.length === 0 || this.#received === this.#volume.size) return;
    this.#flushed = this.#filled;
    this.#hash.update(bytes);
    const written = this.#write(bytes);
    const writes = Promise.all([this.#writes[this.#current], written]).then(() => undefined);
    // Awaited later; until then, a rejection must not count as unhandled.
    writes.catch(() => undefined);
    this.#writes[this.#current] = writes;
  }

  /** Verifies the volume and returns its last bytes, which the caller must write. */
  verify(): Segment {
    const { size, sha256 } = this.#volume;
    if (this.#received !== size)
      throw new VolumeRejected('size', `volume has ${this.#received} bytes instead of ${size}`);
    const last = this.#last ?? this.#unflushed();
    if (this.#hash.update(last).digest('hex') !== sha256)
      throw new VolumeRejected('digest', 'the SHA-256 of the volume differs from the declared one');
    return last;
  }

  async written(): Promise<void> {
    await Promise.all(this.#writes);
  }

  /** Resolves when no write is running and the segments are free. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#writes);
  }

  #unflushed(): Segment {
    return this.#segments[this.#current]!.subarray(this.#flushed, this.#filled);
  }
}
