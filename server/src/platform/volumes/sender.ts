import { read as readCallback, readSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { SegmentPool } from './segments.ts';
import { SocketSink } from './socket-sink.ts';

const read = promisify(readCallback);

/**
 * Reading a segment from the page cache takes at most this long, even on slow machines. A fast disk may be as quick, but then
 * waiting does little harm.
 */
const QUICK_MS = 0.3;
/** Longer than any preemption: such a read waited for the disk. */
const SURELY_WAITED_MS = 20;
const FIRST_PENALTY = 16;
const LAST_PENALTY = 4096;

/** Blocks that this process has read from disks or file servers. */
const readBlocks = () => process.resourceUsage().fsRead;

/**
 * Decides whether to read synchronously or in a thread. Copying from the page cache takes less time than waking a thread, but
 * a synchronous read that waits for the disk blocks every request. There is no way to know in advance, so after a read that
 * waited, the next 16 go to threads, and twice as many each time the following attempt waits again.
 */
export class ReadScheduler {
  readonly #blocks: () => number;
  #lastBlocks: number;
  #threaded = 0;
  #penalty = FIRST_PENALTY;

  constructor(blocks = readBlocks) {
    this.#blocks = blocks;
    this.#lastBlocks = blocks();
  }

  /** Whether to read synchronously now. Report the duration of such a read with `took`. */
  isDirect(): boolean {
    if (this.#threaded === 0) return true;
    this.#threaded--;
    return false;
  }

  took(ms: number): void {
    if (ms <= QUICK_MS) {
      this.#penalty = FIRST_PENALTY;
    } else if (this.#usedDisk() || ms > SURELY_WAITED_MS) {
      this.#threaded = this.#penalty;
      this.#penalty = Math.min(LAST_PENALTY, this.#penalty * 2);
    }
  }

  /** Whether the disk has been read since the last call. If not, the process was only preempted. */
  #usedDisk(): boolean {
    const before = this.#lastBlocks;
    this.#lastBlocks = this.#blocks();
    return this.#lastBlocks !== before;
  }
}

/** The file is shorter than its volume: another program has truncated it. */
export class ShortVolume extends Error {
  override name = 'ShortVolume';
}

/**
 * Sends files to connections. With several downloads, one reads in a thread while another writes; a single download would
 * only wait for its thread.
 */
export class Sender {
  readonly #pool: SegmentPool;
  readonly #scheduler = new ReadScheduler();
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
        const direct = this.#active === 1 && this.#scheduler.isDirect();
        const bytesRead = direct
          ? this.#readNow(fd, target, wanted, position)
          : (await read(fd, target, 0, wanted, position)).bytesRead;
        if (bytesRead === 0) throw new ShortVolume(`volume ends at ${position} instead of ${end}`);
        position += bytesRead;
        const wait = socketSink.advance(bytesRead);
        if (wait) await wait;
        // Nothing waited in this turn, so let other requests run.
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
    this.#scheduler.took(performance.now() - begun);
    return bytesRead;
  }
}
