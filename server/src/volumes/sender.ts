import { read as readCallback } from 'node:fs';
import type { Writable } from 'node:stream';
import { promisify } from 'node:util';
import type { SegmentPool } from './segments.ts';

const read = promisify(readCallback);
const PLAIN_BYTES = 64 * 1024;

/** The file ended before its announced size: something cut it behind the service's back. */
export class ShortVolume extends Error {
  override name = 'ShortVolume';
}

/** Sends a range of a file: one buffer is read while the other is on its way to the socket. */
export async function send(
  fd: number,
  sink: Writable,
  start: number,
  end: number,
  pool: SegmentPool,
): Promise<void> {
  const lease = pool.lease();
  const buffers = lease ?? [new Uint8Array(PLAIN_BYTES), new Uint8Array(PLAIN_BYTES)];
  let sent: Promise<void> = Promise.resolve();
  try {
    for (let position = start, turn = 0; position < end; turn ^= 1) {
      const buffer = buffers[turn]!;
      const { bytesRead } = await read(fd, buffer, 0, Math.min(buffer.length, end - position), position);
      if (bytesRead === 0) throw new ShortVolume(`volume ends at ${position} instead of ${end}`);
      await sent;
      sent = writeTo(sink, buffer.subarray(0, bytesRead));
      sent.catch(() => undefined);
      position += bytesRead;
    }
    await sent;
  } finally {
    // The kernel may still be reading from the buffers of a write under way.
    await sent.catch(() => undefined);
    if (lease) pool.release(lease);
  }
}

function writeTo(sink: Writable, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    sink.write(bytes, (error) => (error ? reject(error) : resolve()));
  });
}
