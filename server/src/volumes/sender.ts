import { read as readCallback } from 'node:fs';
import type { Writable } from 'node:stream';
import { promisify } from 'node:util';
import type { SegmentPool } from './segments.ts';
import { SocketSink } from './socket-sink.ts';

const read = promisify(readCallback);

/** The file ended before its announced size: something else has truncated it. */
export class ShortVolume extends Error {
  override name = 'ShortVolume';
}

/** Sends a range of a file. */
export async function send(
  fd: number,
  sink: Writable,
  start: number,
  end: number,
  pool: SegmentPool,
): Promise<void> {
  const socketSink = new SocketSink(sink, end - start, pool);
  try {
    for (let position = start; position < end; ) {
      const target = socketSink.target();
      const wanted = Math.min(target.length, end - position);
      const { bytesRead } = await read(fd, target, 0, wanted, position);
      if (bytesRead === 0) throw new ShortVolume(`volume ends at ${position} instead of ${end}`);
      position += bytesRead;
      await socketSink.advance(bytesRead);
    }
    await socketSink.finish();
  } finally {
    await socketSink.close();
  }
}
