import { write, writeSync } from 'node:fs';

const STDOUT = 1;
/** A line waits this long for others at most: each write wakes a thread, which costs a busy server a tenth of its time. */
const GATHER_MS = 100;
const GATHER_BYTES = 4096;
/** Lines beyond this are dropped and counted: memory must not grow because the log's reader has stopped. */
const WAITING_BYTES = 4 * 1024 * 1024;
/** A reader that is behind when the process exits gets this long. */
const LAST_MS = 1000;
const PAUSE_MS = 20;

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException | null)?.code;
const pause = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);

/**
 * Lines to standard output, several in one write. A reader that goes away ends the log, not the process. Pino's own output
 * retries such a write for ever when the process exits, and throws when a disk is full.
 */
export class LogOutput {
  #waiting: Buffer[] = [];
  #bytes = 0;
  #dropped = 0;
  /** A write is under way, or is tried again in a moment. */
  #isWriting = false;
  #hasReader = true;
  #timer: NodeJS.Timeout | undefined;

  constructor() {
    process.once('exit', () => this.#finish());
  }

  write(line: string): void {
    if (!this.#hasReader) return;
    if (this.#bytes > WAITING_BYTES) this.#dropped++;
    else this.#keep(Buffer.from(line));
    this.#flushSoon();
  }

  #keep(bytes: Buffer): void {
    this.#waiting.push(bytes);
    this.#bytes += bytes.length;
  }

  #take(): Buffer {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#dropped > 0) {
      const msg = `${this.#dropped} lines of the log were dropped: they could not be written in time`;
      this.#keep(Buffer.from(`${JSON.stringify({ level: 40, time: new Date().toISOString(), msg })}\n`));
      this.#dropped = 0;
    }
    const bytes = Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#bytes = 0;
    return bytes;
  }

  /** Now if there is enough, otherwise with what comes until then. */
  #flushSoon(): void {
    if (this.#isWriting || this.#bytes === 0) return;
    if (this.#bytes >= GATHER_BYTES) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), GATHER_MS).unref();
  }

  #flush(): void {
    const bytes = this.#take();
    this.#isWriting = true;
    write(STDOUT, bytes, (error, count) => {
      const code = codeOf(error);
      this.#hasReader = code !== 'EPIPE';
      if (!this.#hasReader) return;
      if (code === undefined) this.#keepFirst(bytes.subarray(count));
      else if (code === 'EAGAIN') this.#keepFirst(bytes);
      else this.#dropped += bytes.filter((byte) => byte === 0x0a).length;
      if (code === undefined) this.#goOn();
      else setTimeout(() => this.#goOn(), GATHER_MS).unref();
    });
  }

  #keepFirst(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#waiting.unshift(bytes);
    this.#bytes += bytes.length;
  }

  #goOn(): void {
    this.#isWriting = false;
    this.#flushSoon();
  }

  #finish(): void {
    const until = performance.now() + LAST_MS;
    let bytes = this.#hasReader ? this.#take() : Buffer.alloc(0);
    while (bytes.length > 0 && performance.now() < until) {
      try {
        bytes = bytes.subarray(writeSync(STDOUT, bytes));
      } catch (error) {
        if (codeOf(error) !== 'EAGAIN') return;
        pause();
      }
    }
  }
}
