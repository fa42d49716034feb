import { read as readCallback, readSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ReadPace } from './read-pace.ts';
import type { SegmentPool } from './segments.ts';
import { SocketSink } from './socket-sink.ts';

const read = promisify(readCallback);

/** The file ended before its announced size: something else has truncated it. */
export class ShortVolume extends Error {
  override name = 'ShortVolume';
}

/**
 * Sends files to connections. While there are several, threads read for some as others are written to; while there is one, it would only
 * wait for its thread, so it reads by itself.
 */
export class Sender {
  readonly #pool: SegmentPool;
  readonly #pace = new ReadPace();
  #active = 0;

  constructor(pool: SegmentPool) {
    this.#pool = pool;
  }

  /** Sends a range of a file; resolves when the sink has taken it. */
  async send(fd: number, sink: Writable, start: number, end: number): Promise<void> {
    const socketSink = new SocketSink(sink, end - start, this.#pool);
    this.#active++;
    try {
      for (let position = start; position < end; ) {
        const target = socketSink.target();
        const wanted = Math.min(target.length, end - position);
        const direct = this.#active === 1 && this.#pace.isDirect();
        const bytesRead = direct
          ? this.#readNow(fd, target, wanted, position)
          : (await read(fd, target, 0, wanted, position)).bytesRead;
        if (bytesRead === 0) throw new ShortVolume(`volume ends at ${position} instead of ${end}`);
        position += bytesRead;
        const wait = socketSink.advance(bytesRead);
        if (wait) await wait;
        // Nothing was waited for: now it is everybody else's turn.
        else if (direct && position < end) await nextTurn();
      }
      await socketSink.finish();
    } finally {
      this.#active--;
      await socketSink.close();
    }
  }

  #readNow(fd: number, target: Uint8Array, wanted: number, position: number): number {
    const begun = performance.now();
    const bytesRead = readSync(fd, target, 0, wanted, position);
    this.#pace.took(performance.now() - begun);
    return bytesRead;
  }
}
