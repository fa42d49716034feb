import { writeSync } from 'node:fs';

const STDOUT = 1;
/** A line waits this long for others at most: a system call for each would cost a busy server a tenth of its time. */
const GATHER_MS = 100;
/** Errors do not wait: whatever comes next may be the end of the process. Pino begins a line with its level. */
const URGENT = /^\{"level":[56]0/;
/** So many lines do not wait. */
const LINES = 32;
/** A pipe takes this many bytes as a whole or not at all, so that lines of several processes stay whole. */
const PIECE_BYTES = 4096;
/** Lines beyond this are dropped and counted: memory must not grow because the log's reader has stopped. */
const WAITING_BYTES = 4 * 1024 * 1024;
/** A reader that is behind when the process exits gets this long. */
const LAST_MS = 1000;
const PAUSE_MS = 20;

const pause = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);

/** Its text, or what makes it. */
type Line = string | (() => string);

/**
 * Lines to standard output, several in one write. A reader that goes away ends the log, not the process. Pino's own output
 * retries such a write for ever when the process exits, and throws when a disk is full.
 */
export class LogOutput {
  readonly #unblock: () => void;
  /** Those that came last. Their texts are made together: one at a time, each would find the processor's caches cold and cost several times as much. */
  #lines: Line[] = [];
  /** Whole lines, but for the first where only a part of it was taken. */
  #waiting: Buffer[] = [];
  #bytes = 0;
  #dropped = 0;
  #hasReader = true;
  /** The last write was not taken, and is tried again in a moment. */
  #isBehind = false;
  #timer: NodeJS.Timeout | undefined;

  /** `unblock` makes a write fail that would have to wait. */
  constructor(unblock: () => void) {
    this.#unblock = unblock;
    process.once('exit', () => this.#finish());
  }

  write(line: Line): void {
    if (!this.#hasReader) return;
    if (this.#bytes > WAITING_BYTES) {
      this.#dropped++;
      return;
    }
    this.#tellDropped();
    this.#lines.push(line);
    const isUrgent = typeof line === 'string' && URGENT.test(line);
    if (this.#lines.length < LINES && !isUrgent) this.#flushIn(GATHER_MS);
    else if (this.#isBehind) this.#make();
    else this.#flush();
  }

  #make(): void {
    for (const line of this.#lines.splice(0)) this.#keep(typeof line === 'string' ? line : line());
  }

  #keep(line: string): void {
    const bytes = Buffer.from(line);
    this.#waiting.push(bytes);
    this.#bytes += bytes.length;
  }

  #tellDropped(): void {
    if (this.#dropped === 0) return;
    const msg = `${this.#dropped} lines of the log were dropped: they could not be written in time`;
    this.#dropped = 0;
    this.#keep(`${JSON.stringify({ level: 40, time: new Date().toISOString(), msg })}\n`);
  }

  #flushIn(ms: number): void {
    this.#timer ??= setTimeout(() => this.#flush(), ms).unref();
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#make();
    this.#isBehind = this.#writeAll() !== undefined;
    if (this.#isBehind) this.#flushIn(PAUSE_MS);
  }

  /** All that is taken at once; undefined, or why not all was. */
  #writeAll(): string | undefined {
    try {
      for (; this.#bytes > 0; this.#tellDropped()) this.#forget(this.#writeNow(this.#piece()));
      return undefined;
    } catch (error) {
      const { code = 'unknown' } = error as NodeJS.ErrnoException;
      this.#hasReader = code !== 'EPIPE';
      if (!this.#hasReader) this.#forget(this.#bytes);
      return this.#hasReader ? code : undefined;
    }
  }

  #writeNow(bytes: Buffer): number {
    this.#unblock();
    return writeSync(STDOUT, bytes);
  }

  /** As many lines as fit, or a long one. */
  #piece(): Buffer {
    let [count, bytes] = [0, 0];
    do bytes += this.#waiting[count++]!.length;
    while (count < this.#waiting.length && bytes + this.#waiting[count]!.length <= PIECE_BYTES);
    return Buffer.concat(this.#waiting.slice(0, count));
  }

  /** These bytes have been written. */
  #forget(bytes: number): void {
    this.#bytes -= bytes;
    let count = 0;
    for (; count < this.#waiting.length && bytes >= this.#waiting[count]!.length; count++)
      bytes -= this.#waiting[count]!.length;
    this.#waiting.splice(0, count);
    if (bytes > 0) this.#waiting[0] = this.#waiting[0]!.subarray(bytes);
  }

  #finish(): void {
    this.#make();
    this.#tellDropped();
    const until = performance.now() + LAST_MS;
    while (this.#writeAll() === 'EAGAIN' && performance.now() < until) pause();
  }
}
