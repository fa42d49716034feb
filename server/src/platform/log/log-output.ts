import { writeSync } from 'node:fs';

const STDOUT = 1;
/** How long a line may wait for others: a system call for each line would cost a busy server a tenth of its time. */
const GATHER_MS = 100;
/** Errors are written immediately, because the process may be about to exit. Pino's lines begin with the level. */
const URGENT = /^\{"level":[56]0/;
/** Lines are written when this many have gathered. */
const LINES = 32;
/** Writes of this size to a pipe are atomic, so that lines of several processes do not mix. */
const PIECE_BYTES = 4096;
/** When this much is waiting, further lines are dropped and counted: a stopped reader must not make memory grow. */
const WAITING_BYTES = 4 * 1024 * 1024;
/** How long the process waits for a slow reader when it exits. */
const LAST_MS = 1000;
const PAUSE_MS = 20;

const pause = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);

/** The text, or a function that formats it. */
type Line = string | (() => string);

/**
 * Writes lines to standard output, several at a time. A closed pipe ends the log, not the process. Pino's own output would
 * retry forever at exit, and throws when a disk is full.
 */
export class LogOutput {
  readonly #unblock: () => void;
  /** The newest lines. Formatting them together costs several times less than one at a time. */
  #lines: Line[] = [];
  /** Formatted lines; the first may be partly written. */
  #waiting: Buffer[] = [];
  #bytes = 0;
  #dropped = 0;
  #hasReader = true;
  /** The last write failed and will be repeated. */
  #isBehind = false;
  #timer: NodeJS.Timeout | undefined;

  /** `unblock` makes a write fail instead of waiting. */
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
    this.#reportDropped();
    this.#lines.push(line);
    const isUrgent = typeof line === 'string' && URGENT.test(line);
    if (this.#lines.length < LINES && !isUrgent) this.#flushIn(GATHER_MS);
    else if (this.#isBehind) this.#format();
    else this.#flush();
  }

  #format(): void {
    for (const line of this.#lines.splice(0)) this.#keep(typeof line === 'string' ? line : line());
  }

  #keep(line: string): void {
    const bytes = Buffer.from(line);
    this.#waiting.push(bytes);
    this.#bytes += bytes.length;
  }

  #reportDropped(): void {
    if (this.#dropped === 0) return;
    const msg = `${this.#dropped} log lines were dropped: the reader of the log is too slow`;
    this.#dropped = 0;
    this.#keep(`${JSON.stringify({ level: 40, time: new Date().toISOString(), msg })}\n`);
  }

  #flushIn(ms: number): void {
    this.#timer ??= setTimeout(() => this.#flush(), ms).unref();
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#format();
    this.#isBehind = this.#writeAll() !== undefined;
    if (this.#isBehind) this.#flushIn(PAUSE_MS);
  }

  /** Writes as much as possible; returns the error code if not everything was written. */
  #writeAll(): string | undefined {
    try {
      for (; this.#bytes > 0; this.#reportDropped()) this.#forget(this.#writeNow(this.#piece()));
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

  /** As many lines as fit into an atomic write, or one long line. */
  #piece(): Buffer {
    let [count, bytes] = [0, 0];
    do bytes += this.#waiting[count++]!.length;
    while (count < this.#waiting.length && bytes + this.#waiting[count]!.length <= PIECE_BYTES);
    return Buffer.concat(this.#waiting.slice(0, count));
  }

  /** Removes written bytes. */
  #forget(bytes: number): void {
    this.#bytes -= bytes;
    let count = 0;
    for (; count < this.#waiting.length && bytes >= this.#waiting[count]!.length; count++)
      bytes -= this.#waiting[count]!.length;
    this.#waiting.splice(0, count);
    if (bytes > 0) this.#waiting[0] = this.#waiting[0]!.subarray(bytes);
  }

  #finish(): void {
    this.#format();
    this.#reportDropped();
    const until = performance.now() + LAST_MS;
    while (this.#writeAll() === 'EAGAIN' && performance.now() < until) pause();
  }
}
