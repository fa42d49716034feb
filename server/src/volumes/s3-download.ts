import type { IncomingMessage } from 'node:http';
import type { Writable } from 'node:stream';
import { errorOf, readAnswer, type S3Client } from '../s3/client.ts';

/** So much may wait for the sink, so that the store's next bytes come in while the last ones go out. */
const HIGH_BYTES = 512 * 1024;
const LOW_BYTES = 128 * 1024;

/** The peer that is being sent to went away; the store is not to blame and nothing is tried again. */
class SinkClosed extends Error {
  override name = 'SinkClosed';
}

/** Opens a range of an object, its bytes not yet read. */
export async function openRange(
  client: S3Client,
  key: string,
  start: number,
  end?: number,
): Promise<IncomingMessage> {
  const whole = start === 0 && end === undefined;
  const headers: Record<string, string> = whole
    ? {}
    : { range: `bytes=${start}-${end === undefined ? '' : end - 1}` };
  const request = client.begin({ method: 'GET', key, headers });
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request.on('response', resolve).on('error', reject);
    request.setTimeout(client.limits.silenceMs, () => request.destroy(silent()));
    request.end();
  });
  // From here on the reader has its own watch: a paused connection is not a silent one.
  request.setTimeout(0);
  if (response.statusCode === (whole ? 200 : 206)) return response;
  throw errorOf({ method: 'GET', key }, await readAnswer(response));
}

/** Sends a range to the sink at the sink's pace; goes on from where it was when the store breaks off. */
export async function sendRange(
  client: S3Client,
  key: string,
  sink: Writable,
  start: number,
  end: number,
  opened?: IncomingMessage,
): Promise<void> {
  let position = start;
  let response = opened;
  await client.persist(async () => {
    while (position < end) {
      response ??= await openRange(client, key, position, end);
      try {
        await flow(response, sink, client.limits.silenceMs, (count) => {
          position += count;
        });
      } finally {
        response.destroy();
        response = undefined;
      }
    }
  });
}

/** Moves what comes to the sink; resolves when the last byte of the response has been taken. */
function flow(
  response: IncomingMessage,
  sink: Writable,
  silenceMs: number,
  onTaken: (count: number) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let heard = Date.now();
    let waiting = 0;
    let ended = false;
    const watch = setInterval(() => {
      if (!ended && !response.isPaused() && Date.now() - heard > silenceMs) settle(silent());
    }, silenceMs / 4);
    const settle = (error?: Error) => {
      clearInterval(watch);
      response.off('data', onData).off('end', onEnd).off('error', settle).off('aborted', onAborted);
      // Whatever a broken connection still has to say is of no interest.
      response.on('error', () => undefined);
      sink.off('close', onClosed).off('error', onClosed);
      if (error) reject(error);
      else resolve();
    };
    const onData = (chunk: Buffer) => {
      heard = Date.now();
      waiting += chunk.length;
      onTaken(chunk.length);
      sink.write(chunk, (error) => {
        waiting -= chunk.length;
        if (error) onClosed(error);
        else if (ended && waiting === 0) settle();
        else if (waiting <= LOW_BYTES && response.isPaused()) {
          heard = Date.now();
          response.resume();
        }
      });
      if (waiting >= HIGH_BYTES) response.pause();
    };
    const onEnd = () => {
      ended = true;
      if (waiting === 0) settle();
    };
    const onAborted = () => settle(Object.assign(new Error('the store broke off'), { code: 'ECONNRESET' }));
    const onClosed = (cause?: unknown) => {
      const why = cause instanceof Error ? `: ${cause.message}` : '';
      settle(new SinkClosed(`the peer is gone${why}`, { cause }));
    };
    if (sink.destroyed) return settle(new SinkClosed('the peer is gone'));
    response.on('data', onData).on('end', onEnd).on('error', settle).on('aborted', onAborted);
    sink.on('close', onClosed).on('error', onClosed);
  });
}

function silent(): Error {
  return Object.assign(new Error('the store is silent'), { code: 'ETIMEDOUT' });
}
