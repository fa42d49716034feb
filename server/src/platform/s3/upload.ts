import { createHash } from 'node:crypto';
import type { ClientRequest } from 'node:http';
import type { Volume } from '@szafa/protocol';
import { VolumeRejected } from '../errors.ts';
import type { Body, Sink } from '../volumes/body.ts';
import type { Segment, SegmentPool } from '../volumes/segments.ts';
import { errorOf, giveUp, readAnswer, type S3Answer, type S3Client } from './client.ts';
import { silent, translate } from './errors.ts';

export const SMALL_BYTES = 64 * 1024;
/** A slow client must not look to the store like a dead one. */
const TRICKLE_MS = 5_000;

/**
 * One volume on its way to the store. Bytes are gathered into two segments, one being filled while the other is
 * sent; the last ones are held back until size and digest are known to be right, so that a wrong body is never
 * whole at the store. The store checks the same digest, which is part of the signature.
 */
export async function upload(
  client: S3Client,
  key: string,
  volume: Volume,
  body: Body,
  pool: SegmentPool,
): Promise<void> {
  await client.beforeChange();
  const lease = volume.size > SMALL_BYTES ? pool.lease() : undefined;
  // One byte more than a small volume, so that a body that is too long shows.
  const own = () => new Uint8Array(Math.min(SMALL_BYTES, volume.size) + 1);
  const sending = new UploadSink(client, key, volume, lease ?? [own(), own()]);
  try {
    await body.pour(sending);
    await sending.finish();
  } catch (error) {
    throw translate(error);
  } finally {
    await sending.close();
    if (lease) pool.release(lease);
  }
}

class UploadSink implements Sink {
  readonly #client: S3Client;
  readonly #key: string;
  readonly #volume: Volume;
  readonly #segments: Segment[];
  readonly #hash = createHash('sha256');
  readonly #trickle: NodeJS.Timeout;
  #current = 0;
  #filled = 0;
  /** How much of the current segment is on its way already. */
  #flushed = 0;
  #received = 0;
  /** The last bytes, where they filled a segment to its end. */
  #held: Uint8Array | undefined;
  #request: ClientRequest | undefined;
  #answer: Promise<S3Answer> | undefined;
  #writes: Promise<void>[] = [];

  constructor(client: S3Client, key: string, volume: Volume, segments: Segment[]) {
    this.#client = client;
    this.#key = key;
    this.#volume = volume;
    this.#segments = segments;
    this.#trickle = setInterval(() => {
      if (this.#filled > this.#flushed && this.#received < this.#volume.size) this.#flush();
    }, TRICKLE_MS);
  }

  target(): Uint8Array {
    return this.#segments[this.#current]!.subarray(this.#filled);
  }

  advance(count: number): Promise<void> | undefined {
    this.#received += count;
    this.#filled += count;
    const { size } = this.#volume;
    if (this.#received > size) throw new VolumeRejected('size', `volume is longer than ${size} bytes`);
    const segment = this.#segments[this.#current]!;
    if (this.#filled < segment.length) return undefined;
    if (this.#received < size) this.#flush();
    else this.#held = segment.subarray(this.#flushed, this.#filled);
    this.#current = (this.#current + 1) % this.#segments.length;
    this.#filled = 0;
    this.#flushed = 0;
    return this.#writes[this.#current];
  }

  /** Sends the rest, if all of it is right, and waits until the store has it. */
  async finish(): Promise<void> {
    const { size, sha256 } = this.#volume;
    if (this.#received !== size) {
      throw new VolumeRejected('size', `volume has ${this.#received} bytes instead of ${size}`);
    }
    clearInterval(this.#trickle);
    const rest = this.#held ?? this.#segments[this.#current]!.subarray(this.#flushed, this.#filled);
    if (this.#hash.update(rest).digest('hex') !== sha256) {
      throw new VolumeRejected('digest', 'the SHA-256 of the volume differs from the declared one');
    }
    if (!this.#request) {
      // All of it is still here, so it may be tried again.
      await this.#client.write(this.#key, rest);
      return;
    }
    await Promise.all(this.#writes);
    const request = this.#request;
    request.setTimeout(this.#client.limits.silenceMs, () => request.destroy(silent()));
    request.end(rest);
    const answer = await this.#answer!;
    if (answer.status >= 300) throw errorOf({ method: 'PUT', key: this.#key }, answer);
  }

  /** Nothing is under way any more; what was not finished is given up, which leaves nothing at the store. */
  async close(): Promise<void> {
    clearInterval(this.#trickle);
    if (this.#request && !this.#request.writableFinished) giveUp(this.#request);
    await Promise.allSettled(this.#writes);
  }

  #flush(): void {
    const bytes = this.#segments[this.#current]!.subarray(this.#flushed, this.#filled);
    this.#flushed = this.#filled;
    this.#hash.update(bytes);
    this.#request ??= this.#begin();
    const written = this.#write(this.#request, bytes);
    // Awaited before its segment is used again, and at the end; until then it must not count as unhandled.
    written.catch(() => undefined);
    const earlier = this.#writes[this.#current];
    this.#writes[this.#current] = earlier ? earlier.then(() => written) : written;
    this.#writes[this.#current]!.catch(() => undefined);
  }

  #begin(): ClientRequest {
    const request = this.#client.begin(
      { method: 'PUT', key: this.#key },
      this.#volume.sha256,
      this.#volume.size,
    );
    const answer = Promise.withResolvers<S3Answer>();
    request.on('response', (response) => readAnswer(response).then(answer.resolve, answer.reject));
    request.on('error', answer.reject);
    answer.promise.catch(() => undefined);
    this.#answer = answer.promise;
    return request;
  }

  /** Rejects as well when the store answers before it has the bytes: it can only be a refusal. */
  async #write(request: ClientRequest, bytes: Uint8Array): Promise<void> {
    const written = Promise.withResolvers<void>();
    const limit = setTimeout(() => request.destroy(silent()), this.#client.limits.silenceMs);
    request.write(bytes, (error) => (error ? written.reject(error) : written.resolve()));
    const refused = this.#answer!.then((answer) => {
      throw errorOf({ method: 'PUT', key: this.#key }, answer);
    });
    try {
      await Promise.race([written.promise, refused]);
    } finally {
      clearTimeout(limit);
    }
  }
}
