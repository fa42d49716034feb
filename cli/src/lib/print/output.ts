import { writeSync } from 'node:fs';
import type { Explanation } from '../../explain.ts';
import { jsonLine, oneLine, shorten } from './text.ts';

export interface OutputOptions {
  json: boolean;
  quiet: boolean;
}

type Fields = Record<string, unknown>;

const MOST_ERROR_COLUMNS = 400;

/** Prints everything: text for people, or one JSON object per line. */
export class Output {
  readonly json: boolean;
  readonly quiet: boolean;
  /** Set if file content goes to standard output: results then go to standard error. */
  dataOnStdout = false;
  /** Wraps each write. A progress display sets it, to erase its bars before the write and redraw them afterwards. */
  around: (write: () => void) => void = (write) => write();

  constructor({ json, quiet }: OutputOptions) {
    this.json = json;
    this.quiet = quiet;
  }

  get terminal(): boolean {
    return process.stderr.isTTY === true;
  }

  /** Prints a result that the user asked for, even with --quiet. */
  answer(type: string, fields: Fields, text: string): void {
    if (this.json) this.#jsonLine({ type, ...fields });
    else if (text !== '') this.#line(this.#results, text);
  }

  /** Reports finished work. Not shown with --quiet. */
  done(type: string, fields: Fields, text: string): void {
    if (this.json) this.#jsonLine({ type, ...fields });
    else if (!this.quiet) this.#line(this.#results, text);
  }

  /** Prints a remark on standard error. Not shown with --quiet. */
  note(code: string, message: string, fields: Fields = {}): void {
    if (this.json || !this.quiet) this.warning(code, message, fields);
  }

  /** Prints a note even with --quiet, because it changes the exit code. */
  warning(code: string, message: string, fields: Fields = {}): void {
    if (this.json) this.#jsonLine({ type: 'note', code, message, ...fields });
    else this.#line(2, `szafa: ${this.#clean(message)}`);
  }

  progress(fields: Fields, text: string): void {
    if (this.quiet) return;
    if (this.json) this.#jsonLine({ type: 'progress', ...fields });
    else this.#line(2, `szafa: ${this.#clean(text)}`);
  }

  error({ code, message, hint, exit }: Explanation, about?: string): void {
    if (this.json) {
      this.#jsonLine({ type: 'error', code, message, hint, exit, ...(about !== undefined && { about }) });
      return;
    }
    const what = about === undefined ? message : `${shorten(oneLine(about), 200)}: ${message}`;
    this.#line(2, `szafa: ${this.#clean(what)}\nhint: ${this.#clean(hint)}`);
  }

  get #results(): 1 | 2 {
    return this.dataOnStdout ? 2 : 1;
  }

  #clean(text: string): string {
    return shorten(oneLine(text), MOST_ERROR_COLUMNS);
  }

  #jsonLine(fields: Fields): void {
    this.#line(this.#results, jsonLine(fields));
  }

  #line(fd: 1 | 2, text: string): void {
    this.around(() => writeAll(fd, `${text}\n`));
  }
}

/** Writes synchronously, so that nothing is lost when the process exits. Waits while a pipe is full. */
function writeAll(fd: 1 | 2, text: string): void {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(fd, bytes, at);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EAGAIN') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
      else if (code === 'EPIPE' || code === 'EIO')
        return; // the reader is gone, as with `| head`
      else throw error;
    }
  }
}
