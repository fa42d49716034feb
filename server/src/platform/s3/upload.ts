import { createHash } from 'node:crypto';
import type { ClientRequest } from 'node:http';
import type { Volume } from '@szafa/protocol';
import { VolumeRejected } from '../errors.ts';
import type { Body, Sink } from '../volumes/body.ts';
import type { Segment, SegmentPool } from '../volumes/segments.ts';
import { abortRequest, errorOf, readAnswer, type S3Answer, type S3Client } from './client.ts';
import { silent, translate } from './errors.ts';

export const SMALL_BYTES = 64 * 1024;
/** Bytes of a slow client are sent on at least this often, so that the store does not time out. */
const TRICKLE_MS = 5_000;

/**
 * Uploads a volume. One segment is filled while the other is sent. The last bytes are held back until size and digest are
 * verified, so that a wrong body is never complete at the store, which checks the same digest as part of the signature.
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
  // One byte more than a small volume, to notice a body that is too long.
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
  /** How much of the current segment was sent already. */
  #flushed = 0;
  #received = 0;
  /** The last bytes, if they filled a segment completely. */
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

  /** Verifies the volume, sends its last bytes and waits for the store's answer. */
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
      // The whole volume is in memory, so this can be retried.
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

  /** Waits for running writes. An unfinished upload is aborted and leaves nothing at the store. */
  async close(): Promise<void> {
    clearInterval(this.#trickle);
    if (this.#request && !this.#request.writableFinished) abortRequest(this.#request);
    await Promise.allSettled(this.#writes);
  }

  #flush(): void {
    const bytes = this.#segments[this.#current]!.subarray(this.#flushed, this.#filled);
    this.#flushed = this.#filled;
    this.#hash.update(bytes);
    this.#request ??= this.#begin();
    const written = this.#write(this.#request, bytes);
    // Awaited later; until then a rejection must not count as unhandled.
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

  /** Rejects also if the store answers before it has all bytes: that can only be a refusal. */
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
