import type { ClientRequest } from 'node:http';
import type { Volume } from '@szafa/protocol';
import type { Body } from '../volumes/body.ts';
import type { Segment, SegmentPool } from '../volumes/segments.ts';
import { VolumeSink } from '../volumes/volume-sink.ts';
import { abortRequest, errorOf, readAnswer, type S3Answer, type S3Client } from './client.ts';
import { silent, translate } from './errors.ts';

export const SMALL_BYTES = 64 * 1024;
/** Bytes of a slow client are forwarded at least this often, so that the store does not time out. */
const TRICKLE_MS = 5_000;

/** Uploads a volume. The store also checks its digest, which is part of the signature. */
export async function upload(
  client: S3Client,
  key: string,
  volume: Volume,
  body: Body,
  pool: SegmentPool,
): Promise<void> {
  await client.beforeChange();
  const lease = volume.size > SMALL_BYTES ? pool.lease() : undefined;
  // One byte more than a small volume needs, to notice a body that is too long.
  const own = () => new Uint8Array(Math.min(SMALL_BYTES, volume.size) + 1);
  let sending: Sending | undefined;
  const sink = new VolumeSink(volume, lease ?? [own(), own()], (bytes) => {
    sending ??= startUpload(client, key, volume);
    return sending.write(bytes);
  });
  const trickle = setInterval(() => sink.flush(), TRICKLE_MS);
  try {
    await body.pour(sink);
    const last = sink.verify();
    await sink.written();
    // If no request has been started, the whole volume is in memory, so the upload can be retried.
    if (sending) await sending.finish(last);
    else await client.write(key, last);
  } catch (error) {
    throw translate(error);
  } finally {
    clearInterval(trickle);
    sending?.close();
    await sink.settled();
    if (lease) pool.release(lease);
  }
}

interface Sending {
  write(bytes: Segment): Promise<void>;
  /** Sends the last bytes and waits for the store's answer. */
  finish(last: Segment): Promise<void>;
  /** Aborts an unfinished request; nothing is left at the store. */
  close(): void;
}

function startUpload(client: S3Client, key: string, { sha256, size }: Volume): Sending {
  const request: ClientRequest = client.begin({ method: 'PUT', key }, sha256, size);
  const { silenceMs } = client.limits;
  const answer = Promise.withResolvers<S3Answer>();
  request.on('response', (response) => readAnswer(response).then(answer.resolve, answer.reject));
  request.on('error', answer.reject);
  answer.promise.catch(() => undefined /* awaited later */);
  const refusal = (found: S3Answer) => errorOf({ method: 'PUT', key }, found);
  return {
    async write(bytes) {
      const written = Promise.withResolvers<void>();
      const limit = setTimeout(() => request.destroy(silent()), silenceMs);
      request.write(bytes, (error) => (error ? written.reject(error) : written.resolve()));
      // An answer before the store has all bytes can only be a refusal.
      const refused = answer.promise.then((found) => Promise.reject(refusal(found)));
      await Promise.race([written.promise, refused]).finally(() => clearTimeout(limit));
    },
    async finish(last) {
      request.setTimeout(silenceMs, () => request.destroy(silent()));
      request.end(last);
      const found = await answer.promise;
      if (found.status >= 300) throw refusal(found);
    },
    close() {
      if (!request.writableFinished) abortRequest(request);
    },
  };
}
